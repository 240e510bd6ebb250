import math

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from prorandconv import ProRandConvError, gaussian_random_field
from prorandconv.synthesis import Noise


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
@pytest.mark.parametrize("side", [64, 65])
def test_power_falls_with_the_exponent(side, alpha):
    drawn = gaussian_random_field(200, (side, side), alpha)
    assert slope(drawn, 1.5 / side, 0.4) == pytest.approx(-alpha, rel=0.05)


@pytest.mark.parametrize("side", [64, 129, 224])
def test_steep_power_falls_with_the_exponent_over_the_first_octave(side):
    drawn = gaussian_random_field(400, (side, side), 10.0, dtype=torch.float64)
    assert slope(drawn, 0.99 / side, 2.01 / side) == pytest.approx(-10, rel=0.05)


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


@pytest.mark.parametrize("size", [(32, 64), (64, 32), (512, 1024)])
@pytest.mark.parametrize("alpha", [2.0, 4.0, 6.0, 10.0])
def test_isotropic_in_pixels_where_sides_differ(size, alpha):
    count = 2000 if max(size) < 100 else 40
    drawn = gaussian_random_field(count, size, alpha)
    down, right = (drawn.diff(dim=dim).square().mean((1, 2)) for dim in (1, 2))
    # the share lies between 0 and 1: its standard deviation is at most 0.5
    assert float((down / (down + right)).mean()) == pytest.approx(0.5, abs=4 * 0.3 / count**0.5)


@pytest.mark.parametrize("size", [(512, 1024), (1024, 512)])
def test_steep_fields_vary_along_both_sides_of_a_long_image(size):
    drawn = gaussian_random_field(40, size, 10.0)
    profiles = [drawn.mean(dim).var(1, correction=0).mean() for dim in (1, 2)]
    assert min(profiles) > 0.2


@pytest.mark.parametrize("alpha", [0.0, 2.0, 6.0, 10.0])
@pytest.mark.parametrize("size", [(20, 48), (48, 20), (1, 9), (9, 1), (31, 32)])
def test_a_field_is_a_cut_of_the_enclosing_square_centred_and_scaled(size, alpha):
    sides = (size, (max(size), max(size)))
    drawn, square = (
        gaussian_random_field(
            4, s, alpha, generator=torch.Generator().manual_seed(3), dtype=torch.float64
        )
        for s in sides
    )
    cut = square[:, : size[0], : size[1]]
    cut = cut - cut.mean((1, 2), keepdim=True)
    torch.testing.assert_close(drawn, cut / cut.std((1, 2), correction=0, keepdim=True))


@pytest.mark.parametrize("alpha", [6.0, 10.0])
@pytest.mark.parametrize("side", [2, 3, 9, 16])
def test_waves_have_the_covariance_and_the_spectrum_of_the_full_transform(side, alpha):
    count, size = 20_000, (side, side)
    generator = torch.Generator().manual_seed(0)
    steep = gaussian_random_field(count, size, alpha, generator=generator, dtype=torch.float64)
    shape, one = (count, side, side // 2 + 1, 2), torch.ones(()).double()
    noise = torch.randn(shape, generator=generator, dtype=torch.float64)
    full = Noise(noise, size, one, alpha).made()
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


@pytest.mark.parametrize("alpha", [2.0, 10.0])
def test_a_first_call_under_a_fake_mode_leaves_later_calls_alone(alpha):
    # no other test draws this size: nothing is remembered of it
    with FakeTensorMode():
        gaussian_random_field(2, (61, 61), alpha)
    assert gaussian_random_field(2, (61, 61), alpha).std().item() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("alpha", [2.0, 10.0])
def test_a_call_under_a_fake_mode_works_also_where_numbers_are_remembered(alpha):
    gaussian_random_field(2, (8, 8), alpha)
    with FakeTensorMode() as mode:
        assert gaussian_random_field(2, (8, 8), alpha).fake_mode is mode


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


class TestVolumes:
    """Fields with a depth follow the same law as those of images."""

    @pytest.mark.parametrize("size", [(8, 8, 8), (5, 9, 16), (1, 16, 16), (16, 3, 1), (2, 2, 2)])
    @pytest.mark.parametrize("alpha", [0.0, 2.0, 6.0, 10.0])
    def test_each_field_has_zero_mean_and_unit_deviation(self, size, alpha):
        drawn = gaussian_random_field(3, size, alpha, dtype=torch.float64)
        assert drawn.shape == (3, *size)
        assert drawn.mean((1, 2, 3)).abs().max() < 1e-10
        assert drawn.std((1, 2, 3), correction=0).sub(1).abs().max() < 1e-10

    @pytest.mark.parametrize("alpha", [3.0, 5.0])
    def test_power_falls_with_the_exponent(self, alpha):
        drawn = gaussian_random_field(60, (24, 24, 24), alpha, dtype=torch.float64)
        spectrum = torch.fft.fftn(drawn, dim=(1, 2, 3)).abs().square().log().mean(0)
        axis = torch.fft.fftfreq(24, dtype=torch.float64)
        k = torch.hypot(torch.hypot(axis[:, None, None], axis[:, None]), axis)
        band = (k > 1.5 / 24) & (k < 0.4)
        x, y = k[band].log(), spectrum[band]
        x = x - x.mean()
        assert float((x * y).sum() / (x * x).sum()) == pytest.approx(-alpha, rel=0.05)

    def test_waves_have_the_covariance_of_the_full_transform(self):
        count, size = 4000, (5, 5, 5)
        steep = gaussian_random_field(count, size, 10.0, dtype=torch.float64)
        noise = torch.randn(count, 5, 5, 3, 2, dtype=torch.float64)
        full = Noise(noise, size, torch.ones(()).double(), 10.0).made()
        covariances = [f.flatten(1).t() @ f.flatten(1) / count for f in (steep, full)]
        torch.testing.assert_close(*covariances, atol=6 * math.sqrt(6 / count), rtol=0)

    @pytest.mark.parametrize("size", [(16, 32, 32), (32, 32, 16)])
    def test_a_field_is_as_smooth_along_its_depth_as_across(self, size):
        drawn = gaussian_random_field(300, size, 10.0)
        slopes = [drawn.diff(dim=dim).square().mean((1, 2, 3)) for dim in (1, 2, 3)]
        shares = [float((slope / sum(slopes)).mean()) for slope in slopes]
        assert shares == pytest.approx([1 / 3] * 3, abs=0.07)

    def test_its_correlation_is_that_of_the_power_spectrum(self):
        lags = (0, 4, 8, 16)
        drawn = gaussian_random_field(2000, (32, 32, 32), 10.0)
        found = [float((drawn * drawn.roll(lag, 3)).mean()) for lag in lags]
        axis = torch.fft.fftfreq(32, dtype=torch.float64)
        k = torch.hypot(torch.hypot(axis[:, None, None], axis[:, None]), axis)
        k[0, 0, 0] = math.inf
        power = (32 * k) ** -10.0 / ((32 * k) ** -10.0).sum()
        expected = [float((power * (2 * math.pi * axis * lag).cos()).sum()) for lag in lags]
        assert found == pytest.approx(expected, abs=0.03)
