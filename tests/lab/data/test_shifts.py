"""Validation images under shifts: fixed strengths, fixed draws."""

import pytest
import torch

from prorandconv.lab.data.benchmarks.digits import FORMAT
from prorandconv.lab.data.images import Images
from prorandconv.lab.data.shifts import FAMILIES, LIMIT, all_shifted, shifted
from prorandconv.stress import shifts


def images(count=6, size=32):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, 3, size, size), generator=generator, dtype=torch.uint8)
    return Images.in_memory(
        pixels,
        torch.arange(count) % 10,
        classes=tuple("0123456789"),
        split="val",
        format=FORMAT,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_shift_is_the_same_in_every_pass_and_for_every_size_of_batch(family):
    own = images()
    changed = shifted(own, family)
    once = changed.stacked(torch.arange(6))
    torch.manual_seed(1)
    again = torch.cat(list(changed.fetch([torch.tensor([0, 1]), torch.tensor([2, 3, 4, 5])])))
    assert torch.equal(once, again)
    assert once.dtype == torch.uint8
    assert once.shape == own.store.pixels.shape
    assert all(not torch.equal(a, b) for a, b in zip(once, own.store.pixels, strict=True))


def test_zoom_and_shift_leaves_plain_grey_as_it_is():
    pixels = torch.full((2, 1, 32, 32), 100, dtype=torch.uint8)
    assert torch.equal(FAMILIES["zoom-and-shift"](pixels, torch.arange(2)), pixels)


def test_zoom_and_shift_moves_a_point_by_a_tenth_of_the_side_at_most():
    pixels = torch.zeros(20, 1, 32, 32, dtype=torch.uint8)
    pixels[:, :, 15:17, 15:17] = 255
    shifted = FAMILIES["zoom-and-shift"](pixels, torch.arange(20)).float()[:, 0]
    places = torch.arange(32.0)
    rows = (shifted.sum(2) * places).sum(1) / shifted.sum((1, 2))
    assert (rows - 15.5).abs().max() < 32 * 0.1 * 1.2 + 0.5
    assert rows.std() > 1


def test_shifts_of_the_library_have_their_default_strengths():
    changed = shifted(images(), "noise").stacked(torch.arange(6))
    assert torch.equal(changed, shifts.noise(images().store.pixels, torch.arange(6), 0.1))
    assert tuple(FAMILIES) == (*shifts.FAMILIES, "zoom-and-shift")


def test_a_limited_part_of_many_images_is_shifted():
    found = all_shifted(images(LIMIT + 50, 4))
    assert tuple(found) == tuple(FAMILIES)
    assert {len(one) for one in found.values()} == {LIMIT}
    assert len({one.fingerprint for one in found.values()}) == len(FAMILIES)
