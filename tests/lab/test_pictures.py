"""Rows of images with their names."""

import numpy as np
import torch

from prorandconv.lab.data.images import ImageFormat, Images
from prorandconv.lab.sheets import contact_sheet, picture_rows


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
    sheet = np.asarray(contact_sheet(images, per_class=3))
    assert sheet.shape == (3 * 68 + 4, 120 + 3 * 68, 3)
    centres = sheet[36::68, 120 + 32 :: 68, 0]
    assert centres.tolist() == [[0, 30, 50], [20, 255, 255], [255, 255, 255]]
