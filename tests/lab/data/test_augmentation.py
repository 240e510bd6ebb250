"""Stored images and scenes: resized, flipped, moved, cropped, with other colours."""

import pytest
import torch

from prorandconv.lab.data.augmentation import (
    CROP_DRAWS,
    augmented,
    cropped,
    flip,
    jitter_maps,
    resize,
    translate,
    warp,
)


def test_resizing_keeps_a_plain_image_plain_and_does_not_depend_on_chunks():
    images = torch.full((5, 1, 28, 28), 77, dtype=torch.uint8)
    assert torch.equal(resize(images, 32, chunk=2), torch.full((5, 1, 32, 32), 77).byte())
    noise = torch.randint(0, 256, (7, 3, 28, 28), dtype=torch.uint8)
    assert torch.equal(resize(noise, 32, chunk=2), resize(noise, 32))


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


def scene(height=20, width=30):
    """Pixels that tell their place, and classes that tell their pixels."""
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([rows, columns, rows * 0, rows]).to(torch.uint8)


def draws(**changes):
    own = [0.0] * CROP_DRAWS
    own[3] = own[4] = 0.9  # neither flip nor colours
    for name, value in changes.items():
        own[["scale", "top", "left", "flip"].index(name)] = value
    return own


def test_without_a_scale_a_crop_is_a_part_of_the_scene():
    crop = cropped(scene(), draws(top=0.5, left=0.999), 8, 255, scale=False)
    assert torch.equal(crop, scene()[:, 6:14, 22:30])


def test_what_lies_outside_of_the_scene_is_black_and_has_no_class():
    crop = cropped(scene(4, 30), draws(top=0.0, left=0.0), 8, 255, scale=False)
    assert torch.equal(crop[:, :4], scene(4, 30)[:, :, :8])
    assert crop[:3, 4:].eq(0).all()
    assert crop[3, 4:].eq(255).all()


@pytest.mark.parametrize("scale", [0.0, 0.2, 0.5, 0.999])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.999])
def test_classes_stay_on_their_pixels_at_every_scale(scale, place):
    large = scene(60, 80)
    crop = cropped(large, draws(scale=scale, top=place, left=place), 24, 255, scale=True)
    inside = crop[3] != 255
    apart = (crop[0].int() - crop[3].int())[inside].abs()
    assert inside.float().mean() > 0.9
    assert apart.max() <= 1  # nearest neighbour against a smooth ramp


def test_flipping_takes_the_classes_along():
    crop = scene(20, 20)
    crop[3] = crop[1]
    flipped = augmented(crop, draws(flip=0.1))
    assert torch.equal(flipped[3], crop[3].flip(-1))
    assert (flipped[1].int() - flipped[3].int()).abs().max() <= 1


def test_colours_and_blur_leave_the_classes():
    crop = scene(20, 20)
    own = draws()
    own[4:9], own[13] = [0.0, 0.9, 0.1, 0.8, 0.9], 0.99
    changed = augmented(crop, own)
    assert torch.equal(changed[3], crop[3])
    assert not torch.equal(changed[:3], crop[:3])
