"""Masks: numbers of classes in files."""

import tracemalloc

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


def test_black_and_white_is_0_and_1(path):
    Image.fromarray(np.array([[True, False], [False, True]])).save(path)
    assert LabelIds(2).read(path).tolist() == [[1, 0], [0, 1]]


UNKNOWN = {
    "a number beyond the classes": ([[0, 1], [9, 9]], np.uint8, "label 9 in 2 pixel"),
    "below 0, a usual mark for none": ([[0, -1], [-1, -1]], np.int32, "label -1 in 3 pixel"),
    "huge": ([[0, 1], [2, 2_000_000_000]], np.int32, "label 2000000000 in 1 pixel"),
    "16 bits": ([[0, 1], [2, 60_000]], np.uint16, "label 60000 in 1 pixel"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_label_outside_the_class_list_is_named_with_its_number_of_pixels(tmp_path, case):
    values, kind, named = UNKNOWN[case]
    Image.fromarray(np.array(values, kind)).save(tmp_path / "mask.tif")
    with pytest.raises(DataError, match=f"mask.tif: holds the {named}.*one of the 3 classes"):
        LabelIds(3).read(tmp_path / "mask.tif")


def test_a_huge_label_takes_no_memory(tmp_path):
    path = tmp_path / "mask.tif"
    Image.fromarray(np.array([[0, 2_000_000_000]], np.int32)).save(path)
    tracemalloc.start()
    with pytest.raises(DataError, match="label 2000000000"):
        LabelIds(3).read(path)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_mask_of_floating_point_numbers_is_named(tmp_path):
    Image.fromarray(np.zeros((2, 2), np.float32)).save(tmp_path / "mask.tif")
    with pytest.raises(DataError, match=r"mask.tif: a mask of float32 numbers; save it as 8-bit"):
        LabelIds(3).read(tmp_path / "mask.tif")


def test_a_colour_picture_is_refused(path):
    Image.fromarray(np.zeros((2, 2, 3), np.uint8)).save(path)
    with pytest.raises(DataError, match=r"mask.png: a colour picture.*8-bit grey"):
        LabelIds(3).read(path)
