import math
from functools import partial

import pytest
import torch

from prorandconv import ProRandConvError, fields, gaussian_random_field

CPU = torch.device("cpu")


def power(drawn):
    return torch.fft.fft2(drawn.double()).abs().square().mean(0)


def frequencies(height, width):
    rows, columns = (torch.fft.fftfreq(side, dtype=torch.float64) for side in (height, width))
    return torch.hypot(rows[:, None], columns)


def slope(drawn, low, high):
    """Exponent of the power spectrum, fitted over the modes between two frequencies.

    Means of logarithms: each field's scaling to unit deviation then cancels.
    """
    spectrum = torch.fft.fft2(drawn.double()).abs().square().log().mean(0)
    k = frequencies(*drawn.shape[-2:])
    band = (k >= low) & (k <= high)
    x, y = k[band].log(), spectrum[band]
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum())


@pytest.mark.parametrize("size", [(32, 32), (33, 32), (7, 20), (1, 9), (9, 1), (2, 2), (224, 224)])
@pytest.mark.parametrize("alpha", [0.0, 2.0, 6.0, 10.0])
def test_each_field_has_zero_mean_and_unit_deviation(size, alpha):
    drawn = gaussian_random_field(3, size, alpha, dtype=torch.float64)
    assert drawn.shape == (3, *size)
    torch.testing.assert_close(drawn.mean((1, 2)), torch.zeros(3).double(), atol=1e-10, rtol=0)
    deviation = drawn.std((1, 2), correction=0)
    torch.testing.assert_close(deviation, torch.ones(3).double(), atol=1e-10, rtol=0)


@pytest.mark.parametrize("alpha", [2.0, 4.0])
@pytest.mark.parametrize("size", [(64, 64), (65, 63), (64, 96)])
def test_power_falls_with_the_exponent(size, alpha):
    drawn = gaussian_random_field(200, size, alpha)
    assert slope(drawn, 1.5 / min(size), 0.4) == pytest.approx(-alpha, rel=0.05)


@pytest.mark.parametrize("size", [(64, 64), (224, 224), (129, 128)])
def test_steep_power_falls_with_the_exponent_over_the_first_octave(size):
    drawn = gaussian_random_field(400, size, 10.0, dtype=torch.float64)
    assert slope(drawn, 0.99 / max(size), 2.01 / min(size)) == pytest.approx(-10, rel=0.05)


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


SIZES = [(32, 32), (33, 31), (20, 48), (224, 224), (1, 9), (9, 1), (2, 2), (3, 5), (1, 1)]


@pytest.mark.parametrize("alpha", [6.0, 7.0, 8.0, 10.0, 12.0])
@pytest.mark.parametrize("size", SIZES)
def test_waves_leave_out_a_millionth_of_the_variance_at_most(size, alpha):
    k = frequencies(*size)
    k[0, 0] = math.inf
    total = (k / k.min()).pow(-alpha).nan_to_num().sum()
    _, amplitude, _ = fields._waves(*size, alpha, torch.float64, CPU)
    # both sums count every mode of the full spectrum once
    assert -1e-12 <= total - amplitude.square().sum() <= 1e-6 * total


@pytest.mark.parametrize("length", [1, 2, 3, 8, 31])
def test_all_waves_together_are_an_orthonormal_basis(length):
    basis = fields._wave_basis(length)
    torch.testing.assert_close(basis.t() @ basis / length, torch.eye(length).double())


def test_steep_fields_need_few_random_numbers():
    _, amplitude, _ = fields._waves(224, 224, 10.0, torch.float32, CPU)
    assert amplitude.numel() <= 81


@pytest.mark.parametrize("alpha", [6.0, 10.0])
@pytest.mark.parametrize("size", [(16, 16), (9, 14), (3, 5), (2, 2), (1, 8)])
def test_waves_have_the_covariance_and_the_spectrum_of_the_full_transform(size, alpha):
    count = 20_000
    generator = torch.Generator().manual_seed(0)
    steep = gaussian_random_field(count, size, alpha, generator=generator, dtype=torch.float64)
    noise = partial(torch.randn, count, generator=generator, dtype=torch.float64)
    full = fields._from_modes(noise, fields._modes(*size, alpha, torch.float64, CPU), size[1])
    # entries are means of products of unit variables, at most 3 apart: 6 standard errors
    tolerance = 6 * math.sqrt(2 * 3 / count)
    covariances = [f.flatten(1).t() @ f.flatten(1) / count for f in (steep, full)]
    torch.testing.assert_close(*covariances, atol=tolerance, rtol=0)
    spectra = [power(f) / math.prod(size) ** 2 for f in (steep, full)]
    torch.testing.assert_close(*spectra, atol=tolerance / 4, rtol=0)
    strong = spectra[1] > 1e-3
    torch.testing.assert_close(spectra[0][strong], spectra[1][strong], atol=0, rtol=0.12)


def test_fields_are_independent_of_each_other():
    drawn = gaussian_random_field(2000, (16, 16), 10.0).flatten(1)
    products = (drawn[0::2] * drawn[1::2]).mean(1)
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
