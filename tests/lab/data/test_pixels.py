"""Resizing, flipping and translating batches of stored images."""

import torch

from prorandconv.lab.data.pixels import flip, resize, translate


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
