"""Scale, crop, flip, colours and blur of scenes."""

import pytest
import torch

from prorandconv.lab.data.augmentation import CROP_DRAWS, augmented, cropped


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
