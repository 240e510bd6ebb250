"""The playground's operator against the reference, on draws made by Python."""

from itertools import product

import numpy as np
import pytest
import torch

import prorandconv as prc

SIZES = ((32, 32), (33, 47), (64, 40), (81, 81))
PADDINGS = ("zeros", "reflect", "replicate")


def golden(draw_files, size, *, offsets, repeats=5, kernel_size=3, **options):
    """A draw of Python's as a file, with waves as offsets or none."""
    transform = prc.ProRandConv(kernel_size, repeats=repeats, offsets=None, **options)
    generator = torch.Generator().manual_seed(size[0])
    params = transform.draw(torch.zeros(3, *size), generator)
    waves = draw_files.waves(kernel_size**2, max(size)) if offsets else None
    return draw_files.text_of(
        params,
        size,
        waves,
        contrast=list(transform.contrast),
        padding=transform.padding,
        bound=transform.bound,
        output=transform.output,
        mean=list(transform.mean),
        std=list(transform.std),
    )


def differences(playground, draw_files, cases):
    """The largest difference of each case."""
    ours = playground.applied(cases)
    references = [draw_files.read(text).applied(picture) for text, picture in cases]
    return [np.abs(a - b).max() for a, b in zip(ours, references, strict=True)]


def test_golden_draws_agree_with_the_reference(playground, draw_files, picture):
    cases = {
        (size, padding, weights, offsets): (
            golden(draw_files, size, offsets=offsets, padding=padding, weights=weights),
            picture(*size),
        )
        for size, padding, weights, offsets in product(
            SIZES, PADDINGS, ("same", "different"), (True, False)
        )
    }
    found = dict(zip(cases, differences(playground, draw_files, list(cases.values())), strict=True))
    for case, difference in found.items():
        print(*case, f"{difference:.1e}")
    assert len(found) == 48
    assert max(found.values()) < 1e-4


@pytest.mark.parametrize(
    "options",
    [
        {"contrast": False},
        {"contrast": False, "bound": "standardise"},
        {"contrast": ("standardise",)},
        {"contrast": ("affine", "tanh")},
        {"contrast": ("tanh",)},
        {"output": "pixels", "mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.25)},
        {"contrast": False, "mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.25)},
        {"kernel_size": 1},
        {"kernel_size": 7},
        {"smoothing": None, "gamma_std": 2.0},
        {"repeats": 1},
    ],
    ids=str,
)
def test_options_agree_with_the_reference(playground, draw_files, picture, options):
    text = golden(draw_files, (37, 30), offsets=True, **{"repeats": 3, **options})
    (difference,) = differences(playground, draw_files, [(text, picture(37, 30))])
    assert difference < 1e-4


@pytest.mark.parametrize("padding", PADDINGS)
def test_offsets_of_many_pixels_agree_with_the_reference(playground, draw_files, picture, padding):
    params = prc.ProRandConv(repeats=2, offsets=None).draw(torch.zeros(3, 20, 31))
    far = draw_files.waves(9, 31, scale=60.0)
    text = draw_files.text_of(params, (20, 31), far, padding=padding)
    (difference,) = differences(playground, draw_files, [(text, picture(20, 31))])
    assert difference < 1e-4


@pytest.mark.parametrize("mix", [False, True])
def test_randconv_agrees_with_the_reference(playground, draw_files, picture, mix):
    transform = prc.RandConv((5,), identity=0.0, mix=mix)
    params = transform.draw(torch.zeros(3, 41, 33))
    text = draw_files.text_of(params, (41, 33), contrast=[])
    (difference,) = differences(playground, draw_files, [(text, picture(41, 33))])
    assert difference < 1e-4


def test_noise_gives_the_fields_that_python_makes_of_it(playground, draw_files, picture):
    """Offsets with alpha below 6 are stored as the noise that an inverse FFT turns into fields."""
    for side in (24, 25):
        params = prc.ProRandConv(repeats=3, offsets=None).draw(torch.zeros(3, side, side))
        noise = torch.randn(18, side, side // 2 + 1, 2)
        fields = field_of_noise(noise, alpha=3.0)
        waves = torch.linalg.lstsq(basis(side), fields.flatten(1).t()).solution.t()
        expected = draw_files.text_of(
            params,
            (side, side),
            {
                "kind": "waves",
                "side": side,
                "coefficients": draw_files.stored(0.4 * waves.reshape(18, side, side)),
            },
        )
        given = draw_files.text_of(
            params,
            (side, side),
            {
                "kind": "noise",
                "alpha": 3.0,
                "sigma": draw_files.stored(torch.tensor(0.4)),
                "noise": draw_files.stored(noise),
            },
        )
        (ours,) = playground.applied([(given, picture(side, side))])
        reference = draw_files.read(expected).applied(picture(side, side))
        assert np.abs(ours - reference).max() < 1e-4


def field_of_noise(noise, alpha):
    """Fields of unit deviation from noise (n, S, S // 2 + 1, 2), as gaussian_random_field does."""
    side = noise.shape[1]
    rows, columns = torch.fft.fftfreq(side).double(), torch.fft.rfftfreq(side).double()
    frequency = torch.hypot(rows[:, None], columns)
    frequency[0, 0] = torch.inf
    amplitude = frequency ** (-alpha / 2)
    amplitude[:, 0] *= 2**0.5
    if side % 2 == 0:
        amplitude[:, -1] *= 2**0.5
    modes = torch.view_as_complex(noise.double() * amplitude[:, :, None])
    field = torch.fft.irfft2(modes, s=(side, side), norm="forward")
    return field / field.std((-2, -1), correction=0, keepdim=True)


def basis(side):
    """All products of two waves as columns (S², S²)."""
    t = torch.arange(side).double()
    waves = [torch.ones(side).double()]
    for r in range(1, side):
        angle = 2 * torch.pi * ((r + 1) // 2) * t / side
        waves.append(2**0.5 * (angle.cos() if r % 2 else angle.sin()))
    waves = torch.stack(waves, 1)
    return torch.kron(waves, waves)
