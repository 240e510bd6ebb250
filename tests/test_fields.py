import math

import pytest
import torch

from prorandconv import ProRandConvError, gaussian_random_field


def power(fields):
    return torch.fft.fft2(fields.double()).abs().square().mean(0)


def frequencies(height, width):
    return torch.hypot(torch.fft.fftfreq(height)[:, None], torch.fft.fftfreq(width)[None, :])


def slope(fields, low, high):
    """Exponent of the power spectrum, fitted over the modes between two frequencies.

    Means of logarithms: each field's scaling to unit deviation then cancels.
    """
    spectrum = torch.fft.fft2(fields.double()).abs().square().log().mean(0)
    k = frequencies(*fields.shape[-2:])
    band = (k >= low) & (k <= high)
    x, y = k[band].log().double(), spectrum[band]
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum())


@pytest.mark.parametrize("size", [(32, 32), (33, 32), (7, 20), (1, 9), (9, 1), (224, 224)])
@pytest.mark.parametrize("alpha", [0.0, 2.0, 10.0])
def test_each_field_has_zero_mean_and_unit_deviation(size, alpha):
    fields = gaussian_random_field(3, size, alpha, dtype=torch.float64)
    assert fields.shape == (3, *size)
    torch.testing.assert_close(fields.mean((1, 2)), torch.zeros(3).double(), atol=1e-10, rtol=0)
    deviation = fields.std((1, 2), correction=0)
    torch.testing.assert_close(deviation, torch.ones(3).double(), atol=1e-10, rtol=0)


@pytest.mark.parametrize("alpha", [2.0, 4.0])
@pytest.mark.parametrize("size", [(64, 64), (65, 63), (64, 96)])
def test_power_falls_with_the_exponent(size, alpha):
    fields = gaussian_random_field(200, size, alpha)
    assert slope(fields, 1.5 / min(size), 0.4) == pytest.approx(-alpha, rel=0.05)


@pytest.mark.parametrize("size", [(64, 64), (224, 224), (129, 128)])
def test_steep_power_falls_with_the_exponent_over_the_first_octave(size):
    fields = gaussian_random_field(400, size, 10.0, dtype=torch.float64)
    assert slope(fields, 0.99 / max(size), 2.01 / min(size)) == pytest.approx(-10, rel=0.05)


@pytest.mark.parametrize("size", [(32, 32), (33, 33), (32, 33)])
def test_alpha_zero_is_white_noise(size):
    spectrum = power(gaussian_random_field(4000, size, 0.0)) / math.prod(size)
    assert spectrum[0, 0] < 1e-6
    spectrum[0, 0] = 1
    # each mode averages 4000 exponential variables: standard error 1.6 %, 6 of them at the extremes
    assert spectrum.sub(1).abs().max() < 0.12


@pytest.mark.parametrize("size", [(32, 32), (31, 31)])
@pytest.mark.parametrize("alpha", [2.0, 10.0])
def test_isotropic(size, alpha):
    spectrum = power(gaussian_random_field(20_000, size, alpha))
    assert float(spectrum[0, 1] / spectrum[1, 0]) == pytest.approx(1, abs=0.05)
    assert float(spectrum[1, 1] / spectrum[1, -1]) == pytest.approx(1, abs=0.05)


def test_isotropic_in_pixels_where_sides_differ():
    # 2 waves over 64 pixels and 1 wave over 32 are the same frequency
    spectrum = power(gaussian_random_field(20_000, (32, 64), 4.0))
    assert float(spectrum[0, 2] / spectrum[1, 0]) == pytest.approx(1, abs=0.05)


def test_cut_spectrum_equals_the_full_transform():
    from prorandconv.fields import _spectrum

    size = (200, 180)
    amplitude, basis = _spectrum(*size, 10.0, torch.float32, torch.device("cpu"))
    assert basis is not None
    modes = torch.view_as_complex(torch.randn(5, *amplitude.shape) * amplitude)
    full = torch.zeros(5, size[0], size[1] // 2 + 1, dtype=torch.complex64)
    rows = torch.fft.fftfreq(size[0], 1 / size[0])
    half = amplitude.shape[0] // 2
    kept = rows.abs() <= half
    full[:, kept, : amplitude.shape[1]] = modes
    expected = torch.fft.irfft2(full, s=size, norm="forward")
    actual = torch.fft.irfft(basis @ modes, n=size[1], norm="forward")
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def test_fields_are_independent_of_each_other():
    fields = gaussian_random_field(2000, (16, 16), 10.0).flatten(1)
    products = (fields[0::2] * fields[1::2]).mean(1)
    # products of two unit fields with a few modes each: standard deviation about 0.5
    assert products.mean().abs() < 5 * 0.5 / math.sqrt(1000)


def test_single_pixel_is_zero():
    assert gaussian_random_field(2, (1, 1)).eq(0).all()


def test_generator_decides_alone():
    state = torch.random.get_rng_state()
    one = gaussian_random_field(2, (8, 8), generator=torch.Generator().manual_seed(5))
    torch.manual_seed(99)
    two = gaussian_random_field(2, (8, 8), generator=torch.Generator().manual_seed(5))
    assert torch.equal(one, two)
    torch.random.set_rng_state(state)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"count": -1}, "count"),
        ({"size": (0, 4)}, "size"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"dtype": torch.float16}, "dtype"),
    ],
)
def test_wrong_arguments_are_named(arguments, named):
    with pytest.raises(ProRandConvError, match=f"^{named}: got .*, expected "):
        gaussian_random_field(**{"count": 1, "size": (4, 4), **arguments})
