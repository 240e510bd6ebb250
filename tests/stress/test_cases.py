"""The images of a stress test: those of the library's own draws and shifts."""

from dataclasses import replace

import pytest
import torch

from prorandconv import ProRandConv, ProRandConvError
from prorandconv.stress.cases import COMPONENTS, Case, cases, stressed
from prorandconv.stress.shifts import FAMILIES, STRENGTHS

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)


def images(count=3):
    pixels = torch.randint(0, 256, (count, 3, 12, 12), dtype=torch.uint8)
    centre, scale = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    return pixels, (pixels / 255 - centre) / scale


def made(x, index=None, **changes):
    index = torch.arange(len(x)) if index is None else index
    return dict(stressed(x, index, **({"mean": MEAN, "std": STD, "draws": 2, "seed": 3} | changes)))


def draw(transform, pixels, seed, **changes):
    """What a transform makes of pixels in [-1, 1], normalised for the network."""
    signed = pixels / 255 * 2 - 1
    params = transform.draw(signed, torch.Generator().manual_seed(seed))
    centre, scale = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    made = transform(signed, draw=replace(params, **changes))
    return ((made + 1) / 2 - centre) / scale


def close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)


def test_there_is_an_image_for_every_case_in_order():
    _, x = images()
    assert list(made(x)) == cases(2)
    assert len(cases(2)) == 1 + 2 * (10 + 8) + 7 * 3


@pytest.mark.parametrize("count", [1, 4, 10])
def test_repetitions_are_those_of_the_draw_of_the_seed(count):
    pixels, x = images()
    found = made(x)
    assert torch.equal(found[Case("repeats", "0")], x)
    close(found[Case("repeats", str(count), 1)], draw(ProRandConv(), pixels, 4, repeats=count))


def test_all_parts_of_the_block_are_pro_randconv_as_it_is():
    pixels, x = images()
    expected = draw(ProRandConv(), pixels, 3)
    close(made(x)[Case("components", "smoothing + contrast + offsets")], expected)


def test_no_part_of_the_block_is_progressive_with_the_same_weights():
    pixels, x = images()
    plain = ProRandConv(contrast=False, smoothing=None, offsets=None)
    close(made(x)[Case("components", "none")], draw(plain, pixels, 3))


def test_networks_of_another_normalisation_see_the_same_pixels():
    pixels, x = images()
    centre, scale = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    plain = made(pixels / 255, mean=(0.0,), std=(1.0,))
    for case, found in made(x).items():
        close(found * scale + centre, plain[case])


def test_each_part_of_the_block_makes_other_images():
    _, x = images()
    found = [made(x)[Case("components", name)] for name in COMPONENTS]
    assert len(found) == 8
    assert all(not torch.equal(a, b) for i, a in enumerate(found) for b in found[:i])


def test_shifts_are_those_of_the_stored_pixels_at_their_positions():
    pixels, x = images()
    index = torch.tensor([7, 2, 30])
    centre, scale = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    found = made(x, index)
    for name, strengths in STRENGTHS.items():
        for variant, strength in enumerate(strengths):
            expected = (FAMILIES[name](pixels, index, strength) / 255 - centre) / scale
            assert torch.equal(found[Case("shifts", name, variant)], expected), name


def test_all_images_are_in_the_range_of_normalised_pixels():
    _, x = images()
    centre, scale = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    for case, found in made(x).items():
        pixels = found * scale + centre
        assert -1e-5 <= pixels.min() <= pixels.max() <= 1 + 1e-5, case


def test_another_normalisation_than_the_images_have_raises_an_error():
    _, x = images()
    with pytest.raises(ProRandConvError, match=r"mean, std: got .*pixels are from 0 to 1, but"):
        made(x, mean=(0.5,), std=(0.5,))
