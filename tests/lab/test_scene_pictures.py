"""Masks in colours."""

import numpy as np
import torch

from prorandconv.lab.sheets import (
    coloured,
    colours_of,
    overlaid,
    palette_image,
    scene_rows,
)

COLOURS = ((10, 20, 30), (200, 100, 50))


def test_classes_have_their_colours_and_what_has_none_is_black():
    picture = coloured(torch.tensor([[0, 1, 255]], dtype=torch.uint8), COLOURS)
    assert picture.permute(1, 2, 0).tolist() == [[[10, 20, 30], [200, 100, 50], [0, 0, 0]]]


def test_an_overlay_mixes_picture_and_colours():
    pixels = torch.full((3, 1, 1), 100, dtype=torch.uint8)
    mixed = overlaid(pixels, torch.zeros(1, 1, dtype=torch.uint8), COLOURS, share=0.5)
    assert mixed.flatten().tolist() == [55, 60, 65]


def test_the_pixels_of_a_label_file_are_numbers_and_its_colours_those_of_the_classes(tmp_path):
    labels = torch.tensor([[0, 1], [1, 0]], dtype=torch.uint8)
    image = palette_image(labels, COLOURS)
    assert np.array(image).tolist() == labels.tolist()
    assert image.convert("RGB").getpixel((1, 0)) == COLOURS[1]


def test_every_class_has_a_colour_of_its_own():
    names = ("road", "sign", *(f"class {number}" for number in range(30)))
    assert len(set(colours_of(names))) == len(names)
    assert colours_of(["sign"]) == ((220, 220, 0),)


def test_rows_hold_all_pictures_at_one_height_above_a_legend():
    rows = [("scene", [torch.zeros(3, 30, 60, dtype=torch.uint8)] * 2), ("truth", [])]
    sheet = scene_rows(rows, ("a", "b"), height=60)
    assert sheet.width > 2 * 120
    assert sheet.height > 2 * 60
