"""Resizing, flipping and translating batches of stored images."""

import pytest
import torch

from prorandconv.lab.data.augmentation import flip, jitter_maps, resize, translate, warp


def test_resizing_keeps_a_plain_image_plain():
    images = torch.full((5, 1, 28, 28), 77, dtype=torch.uint8)
    assert torch.equal(resize(images, 32, chunk=2), torch.full((5, 1, 32, 32), 77).byte())


def test_resizing_in_chunks_changes_nothing():
    images = torch.randint(0, 256, (7, 3, 28, 28), dtype=torch.uint8)
    assert torch.equal(resize(images, 32, chunk=2), resize(images, 32))


def test_only_the_chosen_images_are_flipped():
    images = torch.arange(24).view(2, 1, 3, 4)
    result = flip(images, torch.tensor([True, False]))
    assert torch.equal(result[0], images[0].flip(-1))
    assert torch.equal(result[1], images[1])


def test_translation_crops_each_chosen_image_at_its_own_corner():
    ramp = torch.arange(0, 256, 4, dtype=torch.uint8)
    images = ramp.expand(3, 1, 64, 64).clone()
    corner = torch.tensor([[0.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    result = translate(images, torch.tensor([True, True, False]), corner)
    assert result.shape == images.shape
    # enlarged by 1.125, a crop at the left end begins with the ramp, one at the right ends it
    assert result[0, 0, 0, 0] == 0
    assert result[0, 0, 0, -1] < 252 - 20
    assert result[1, 0, 0, -1] == 252
    assert result[1, 0, 0, 0] > 20
    assert torch.equal(result[2], images[2])


def test_translation_moves_rows_as_well_as_columns():
    ramp = torch.arange(0, 256, 4, dtype=torch.uint8).view(-1, 1)
    images = ramp.expand(2, 1, 64, 64).clone()
    corner = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    top, bottom = translate(images, torch.tensor([True, True]), corner)[:, 0, 0, 0]
    assert bottom - top > 20


def point(row, column):
    pixels = torch.zeros(1, 1, 20, 20, dtype=torch.uint8)
    pixels[0, 0, row, column] = 255
    return pixels


@pytest.mark.parametrize(
    ("drawn", "strength", "before", "after"),
    [
        ([0.0, 0.0, 0.0, 0.0], 1.0, (3, 7), (3, 7)),
        ([0.0, 1.0, 0.0, 0.0], 1.0, (10, 10), (10, 6)),  # a fifth of the side
        ([0.0, 0.0, -1.0, 0.0], 0.5, (10, 10), (12, 10)),  # half of it, the other way
    ],
)
def test_a_jitter_moves_a_point_as_its_strength_says(drawn, strength, before, after):
    moved = warp(point(*before), jitter_maps(torch.tensor([drawn]), strength))
    assert torch.equal(moved, point(*after))


def test_the_strongest_jitter_zooms_by_1_4_and_turns_by_15_degrees():
    zoomed, turned = jitter_maps(torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 1.0]]), 1.0)
    torch.testing.assert_close(zoomed, torch.tensor([[1.4, 0, 0], [0, 1.4, 0]]))
    expected = torch.tensor([[0.965926, -0.258819, 0], [0.258819, 0.965926, 0]])
    torch.testing.assert_close(turned, expected)
