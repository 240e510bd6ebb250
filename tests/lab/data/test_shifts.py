"""Validation images under shifts: fixed strengths, fixed draws."""

import pytest
import torch

from prorandconv.lab.data.benchmarks.digits import FORMAT
from prorandconv.lab.data.images import InMemoryImages
from prorandconv.lab.data.shifts import FAMILIES, LIMIT, Shifted, all_shifted


def images(count=6, size=32):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, 3, size, size), generator=generator, dtype=torch.uint8)
    return InMemoryImages(
        pixels,
        torch.arange(count) % 10,
        classes=tuple("0123456789"),
        split="val",
        format=FORMAT,
    )


def grey(value, count=2):
    return torch.full((count, 1, 32, 32), value, dtype=torch.uint8), torch.arange(count)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_shift_is_the_same_in_every_pass_and_for_every_size_of_batch(family):
    own = images()
    shifted = Shifted(own, family)
    (once,) = shifted.stored([torch.arange(6)])
    torch.manual_seed(1)
    again = torch.cat(list(shifted.stored([torch.tensor([0, 1]), torch.tensor([2, 3, 4, 5])])))
    assert torch.equal(once, again)
    assert once.dtype == torch.uint8
    assert once.shape == own.pixels.shape
    assert all(not torch.equal(a, b) for a, b in zip(once, own.pixels, strict=True))


@pytest.mark.parametrize(
    ("family", "before", "after"),
    [
        ("blur", 100, [100, 100]),
        ("contrast", 100, [100, 100]),
        ("brightness", 100, [164, 36]),
        ("posterise", 200, [192, 192]),
        ("solarise", 200, [55, 55]),
        ("solarise", 100, [100, 100]),
        ("invert", 200, [55, 55]),
        ("zoom-and-shift", 100, [100, 100]),
    ],
)
def test_a_shift_of_plain_grey_is_what_its_strength_says(family, before, after):
    pixels, index = grey(before)
    shifted = FAMILIES[family](pixels, index)
    assert [one.unique().tolist() for one in shifted] == [[value] for value in after]


def test_noise_has_the_strength_it_says_and_differs_from_image_to_image():
    pixels, index = grey(128)
    shifted = FAMILIES["noise"](pixels, index).float()
    assert shifted.std().item() == pytest.approx(25.5, rel=0.05)
    assert not torch.equal(shifted[0], shifted[1])


def test_zoom_and_shift_moves_a_point_by_a_tenth_of_the_side_at_most():
    pixels = torch.zeros(20, 1, 32, 32, dtype=torch.uint8)
    pixels[:, :, 15:17, 15:17] = 255
    shifted = FAMILIES["zoom-and-shift"](pixels, torch.arange(20)).float()[:, 0]
    places = torch.arange(32.0)
    rows = (shifted.sum(2) * places).sum(1) / shifted.sum((1, 2))
    assert (rows - 15.5).abs().max() < 32 * 0.1 * 1.2 + 0.5
    assert rows.std() > 1


def test_a_limited_part_of_many_images_is_shifted():
    found = all_shifted(images(LIMIT + 50, 4))
    assert tuple(found) == tuple(FAMILIES)
    assert {len(one) for one in found.values()} == {LIMIT}
    assert len({one.fingerprint for one in found.values()}) == len(FAMILIES)
