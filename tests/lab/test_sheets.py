"""Sheets: rows with names, scenes in colours, figures with captions."""

import numpy as np
import torch
from PIL import Image

from prorandconv.lab.data.images import ImageFormat, Images
from prorandconv.lab.sheets import (
    GAP,
    TEXT,
    TITLE,
    Row,
    Sheet,
    coloured,
    colours_of,
    contact_sheet,
    overlaid,
    palette_image,
    picture_rows,
    scene_rows,
)


def flat(*colours):
    """uint8 (N, 3, 32, 32), an image for each grey value."""
    return torch.tensor(colours, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 32, 32)


def test_images_stand_beside_each_other_at_twice_their_size():
    picture = np.asarray(picture_rows([("one", flat(10, 20)), ("two", flat(30))]))
    assert picture.shape == (2 * 68 + 4, 90 + 2 * 68, 3)
    assert (picture[4:68, 90:154] == 10).all()
    assert (picture[4:68, 158:222] == 20).all()
    assert (picture[72:136, 90:154] == 30).all()
    assert (picture[72:136, 158:222] == 255).all()


def test_a_long_name_gets_the_room_it_needs():
    picture = np.asarray(picture_rows([("a class of many words", flat(10))]))
    left = picture.shape[1] - 68
    assert left > 90
    assert (picture[4:68, left : left + 64] == 10).all()
    assert (picture[:, left - 8 : left] == 255).all()


def test_large_images_are_reduced():
    picture = picture_rows([("one", torch.zeros(1, 3, 224, 224, dtype=torch.uint8))])
    assert picture.size == (90 + 76, 80)


def test_a_contact_sheet_has_a_row_for_each_class_chosen_at_even_distances():
    labels = torch.tensor([0, 0, 1, 0, 0, 0, 0])
    images = Images.in_memory(
        flat(0, 10, 20, 30, 40, 50, 60)[:, :1],
        labels,
        classes=("a", "b", "c"),
        split="test",
        format=ImageFormat(32, (0.5,) * 3, (0.5,) * 3, base_augmentation=False),
    )
    shown = np.asarray(contact_sheet(images, per_class=3))
    assert shown.shape == (3 * 68 + 4, 120 + 3 * 68, 3)
    centres = shown[36::68, 120 + 32 :: 68, 0]
    assert centres.tolist() == [[0, 30, 50], [20, 255, 255], [255, 255, 255]]


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
    shown = scene_rows(rows, ("a", "b"), height=60)
    assert where(shown, (0, 0, 0))[0][1] >= 4 + 59
    (top, bottom), (left, right) = where(shown.crop((0, 0, shown.width, 64)), (0, 0, 0))
    assert (top, bottom) == (4, 63)
    assert right - left + 1 >= 2 * 120 + 4
    assert shown.height == 4 + 2 * 64 + 24
    assert all((np.asarray(shown) == colour).all(-1).sum() > 150 for colour in colours_of("ab"))


def sheet(**parts):
    red, blue = (Image.new("RGB", (200, 200), colour) for colour in ("#ff0000", "#0000ff"))
    return Sheet("title", [Row("", [red, blue], ("one", "two")), Row("", [blue, red])], **parts)


def where(picture, colour):
    found = (np.asarray(picture) == colour).all(-1).nonzero()
    return [(int(axis.min()), int(axis.max())) for axis in found]


def test_pictures_stand_in_rows_with_every_pixel_they_have():
    drawn = sheet().drawn("")
    assert (np.asarray(drawn) == (255, 0, 0)).all(-1).sum() == 2 * 200 * 200
    top = TITLE + 5 * GAP + TEXT + GAP
    assert where(drawn.crop((0, 0, drawn.width, top + 200)), (255, 0, 0))[0] == (top, top + 199)


def test_the_margin_is_wrapped_and_makes_the_sheet_taller():
    short, long = sheet().drawn("command"), sheet().drawn("word " * 60)
    assert short.width == long.width
    assert long.height - short.height == (long.height - short.height) // 30 * 30 > 0


def test_names_move_the_pictures_to_the_right():
    red = Image.new("RGB", (100, 100), "#ff0000")
    bare, named = (Sheet("t", [Row(name, [red])]).drawn("") for name in ("", "a name"))
    assert where(named, (255, 0, 0))[1][0] > where(bare, (255, 0, 0))[1][0]
