"""Shifts of pixels: each is what its strength says, and depends on nothing else."""

import pytest
import torch

from prorandconv.stress.shifts import FAMILIES, STRENGTHS


def grey(value, count=2, channels=1):
    return torch.full((count, channels, 32, 32), value, dtype=torch.uint8), torch.arange(count)


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


def test_inverting_begins_with_the_first_channel():
    pixels, index = grey(200, channels=3)
    found = [FAMILIES["invert"](pixels, index, s)[0, :, 0, 0].tolist() for s in STRENGTHS["invert"]]
    assert found == [[55, 200, 200], [55, 55, 200], [55, 55, 55]]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_stronger_shift_is_farther_from_the_image(family):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (4, 3, 40, 40), generator=generator, dtype=torch.uint8)
    distances = [
        (FAMILIES[family](pixels, torch.arange(4), strength).float() - pixels).abs().mean().item()
        for strength in STRENGTHS[family]
    ]
    assert 0 < distances[0] < distances[1] < distances[2]
