"""Masks: numbers of classes in files."""

import numpy as np
import pytest
from PIL import Image

from prorandconv.lab.data.masks import LabelIds
from prorandconv.lab.errors import DataError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mask.png"


def test_numbers_are_classes_and_255_is_none(path):
    values = np.array([[0, 1, 2], [255, 2, 0]], np.uint8)
    Image.fromarray(values).save(path)
    assert LabelIds(3).read(path).tolist() == values.tolist()


def test_positions_in_a_palette_are_numbers(path):
    image = Image.fromarray(np.array([[0, 1], [2, 1]], np.uint8)).convert("P")
    image = Image.frombytes("P", (2, 2), bytes([0, 1, 2, 1]))
    image.putpalette([0, 0, 0, 200, 10, 10, 9, 9, 250])
    image.save(path)
    assert LabelIds(3).read(path).tolist() == [[0, 1], [2, 1]]


def test_a_table_says_which_numbers_mean_which_class(path):
    Image.fromarray(np.array([[7, 8], [0, 7]], np.uint8)).save(path)
    read = LabelIds(2, {7: 0, 8: 1, 0: 255}).read(path)
    assert read.tolist() == [[0, 1], [255, 0]]


def test_a_label_outside_the_class_list_is_refused_by_its_number(path):
    Image.fromarray(np.array([[0, 1], [9, 1]], np.uint8)).save(path)
    with pytest.raises(DataError, match=r"mask.png: holds the label 9, .* 3 classes"):
        LabelIds(3).read(path)


def test_a_colour_picture_is_refused(path):
    Image.fromarray(np.zeros((2, 2, 3), np.uint8)).save(path)
    with pytest.raises(DataError, match=r"mask.png: a colour picture.*8-bit grey"):
        LabelIds(3).read(path)
