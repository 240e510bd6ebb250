import copy
import math
import pickle
import subprocess
import sys

import pytest
import torch

from prorandconv import ProRandConvError, gaussian_random_field
from prorandconv.fields import Field, _amplitudes, draw_field, fourier_basis


def power(drawn):
    return torch.fft.fft2(drawn.double()).abs().square().mean(0)


def full_transform(count, size, alpha, generator):
    """Fields from all modes of white noise, by an FFT: what the basis is held to."""
    noise = torch.randn(count, *size, generator=generator, dtype=torch.float64)
    axes = torch.meshgrid(*(torch.fft.fftfreq(n, dtype=torch.float64) for n in size), indexing="ij")
    k = torch.stack(axes).square().sum(0).sqrt()
    k.view(-1)[0] = 1
    dims = tuple(range(1, 1 + len(size)))
    noise -= noise.mean(dims, keepdim=True)
    drawn = torch.fft.ifftn(torch.fft.fftn(noise, dim=dims) * k ** (-alpha / 2), dim=dims).real
    return drawn / drawn.square().mean(dims, keepdim=True).sqrt()


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


@pytest.mark.parametrize("alpha", [0.0, 3.0, 6.0, 10.0])
@pytest.mark.parametrize("side", [2, 3, 9, 16])
def test_modes_have_the_covariance_and_the_spectrum_of_the_full_transform(side, alpha):
    count, size = 20_000, (side, side)
    generator = torch.Generator().manual_seed(0)
    steep = gaussian_random_field(count, size, alpha, generator=generator, dtype=torch.float64)
    full = full_transform(count, size, alpha, generator)
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

    def test_modes_have_the_covariance_of_the_full_transform(self):
        count, size = 4000, (5, 5, 5)
        steep = gaussian_random_field(count, size, 10.0, dtype=torch.float64)
        full = full_transform(count, size, 10.0, None)
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


SIZES = [(1, 1), (2, 2), (9, 9), (32, 32), (1, 8), (8, 3), (20, 32), (33, 20), (5, 9, 7), (4, 4, 4)]


def drawn(size, alpha=10.0, count=2, dtype=torch.float64):
    """Three fields for each of ``count`` draws, with a deviation of 0.5, 1, ..."""
    return draw_field((count, 3), size, alpha, torch.arange(1, 1 + count, dtype=dtype) / 2)


class TestField:
    """What a draw keeps of its fields."""

    @pytest.mark.parametrize("alpha", [3.0, 10.0])
    @pytest.mark.parametrize("size", SIZES, ids=str)
    def test_is_the_sum_of_the_products_of_the_basis(self, size, alpha):
        field = drawn(size, alpha)
        basis = [axis.clone() for axis in field.basis(torch.float64)]
        letters = "yxz"[: len(size)]
        terms = ",".join(f"{letter}{letter.upper()}" for letter in letters)
        rule = f"mn{letters.upper()},{terms}->mn{letters}"
        expected = torch.einsum(rule, field.coefficients, *basis)
        assert field.shape == (2, 3, *size)
        torch.testing.assert_close(field.dense(), expected, atol=1e-12, rtol=0)

    def test_the_basis_is_one_and_root_two_times_cosine_and_sine(self):
        by_row, by_column = fourier_basis((6, 8), (3, 5), torch.float64, torch.device("cpu"))
        t = torch.arange(8).double()
        for mode in range(1, 5):
            angle = 2 * math.pi * ((mode + 1) // 2) * t / 8
            expected = math.sqrt(2) * (angle.cos() if mode % 2 else angle.sin())
            torch.testing.assert_close(by_column[:, mode], expected)
        assert by_column[:, 0].eq(1).all()
        assert torch.equal(by_row, by_column[:6, :3])

    @pytest.mark.parametrize("size", SIZES, ids=str)
    def test_deviations_are_sigma(self, size):
        dense = drawn(size).dense()
        deviation = dense.std(tuple(range(2, dense.dim())), correction=0)
        expected = torch.tensor([0.5, 1.0]).double()[:, None].expand(2, 3)
        torch.testing.assert_close(deviation, expected * (math.prod(size) > 1))

    @pytest.mark.parametrize("size", [(16, 12), (9, 9), (5, 9, 7)], ids=str)
    def test_some_draws_and_some_rows_are_those_of_all(self, size):
        field = drawn(size, count=3, dtype=torch.float32)
        dense, rows = field.dense(), (slice(1, 4),) * (len(size) - 1)
        for some, expected in (
            (field[1].dense(), dense[1]),
            (field[torch.tensor([2, 0])].dense(), dense[[2, 0]]),
            (field.rows(*rows), dense[(..., *rows, slice(None))]),
        ):
            torch.testing.assert_close(some, expected, atol=1e-6, rtol=0)

    @pytest.mark.parametrize("alpha", [6.0, 10.0])
    @pytest.mark.parametrize("size", SIZES, ids=str)
    def test_no_offset_is_beyond_the_bound(self, size, alpha):
        field = drawn(size, alpha, count=20)
        largest = float(field.dense().abs().max())
        assert largest <= field.bound()
        assert field.bound() < 1.5 * largest + 1e-9

    def test_the_bound_is_known_where_it_cannot_be_read(self):
        field = drawn((8, 8))
        moved = field.to("meta")
        assert (moved.device.type, moved.bound()) == ("meta", field.bound())
        assert Field(moved.coefficients, (8, 8)).bound() is None

    def test_to_another_precision_and_back(self):
        field = drawn((8, 12), dtype=torch.float32)
        assert field.to() is field
        doubled = field.to(dtype=torch.float64)
        assert doubled.dense().dtype == torch.float64
        torch.testing.assert_close(doubled.dense().float(), field.dense(), atol=1e-6, rtol=0)
        assert torch.equal(doubled.to(dtype=torch.float32).coefficients, field.coefficients)

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
    def test_a_copy_makes_the_same_bits_and_is_small(self, copied):
        field = drawn((224, 200), dtype=torch.float32)
        assert torch.equal(copied(field).dense(), field.dense())
        assert len(pickle.dumps(field)) < 3500

    def test_autocast_changes_nothing(self):
        field = drawn((20, 32), dtype=torch.float32)
        expected, bound = field.dense(), field.bound()
        with torch.autocast("cpu"):
            again = drawn((20, 32), dtype=torch.float32)
            assert torch.equal(field.dense(), expected)
            assert field.bound() == bound
        deviation = again.dense().std((2, 3), correction=0)[:, 0]
        torch.testing.assert_close(deviation, torch.tensor([0.5, 1.0]))

    def test_derivatives_with_respect_to_the_coefficients(self):
        field = drawn((6, 8))
        field.coefficients.requires_grad_()
        field.dense().sum().backward()
        # of all modes over the longer side, only the constant has a sum
        assert field.coefficients.grad[..., 0, 0].eq(48).all()
        assert field.coefficients.grad[..., :, 1:].abs().max() < 1e-12


class TestResized:
    """The same modes over an image of another size."""

    @pytest.mark.parametrize("size", [(8, 8), (12, 20), (21, 14)], ids=str)
    def test_twice_the_size_has_the_same_offsets_times_two_at_every_second_pixel(self, size):
        field = drawn(size)
        doubled = field.resized((2 * size[0], 2 * size[1]))
        torch.testing.assert_close(doubled.dense()[..., ::2, ::2], 2 * field.dense())
        torch.testing.assert_close(doubled.resized(size).dense(), field.dense())

    def test_modes_too_short_for_the_pixels_are_left_out(self):
        field = drawn((32, 32))
        assert field.coefficients.shape == (2, 3, 9, 9)
        small = field.resized((4, 4))
        torch.testing.assert_close(small.coefficients, field.coefficients[..., :4, :4] / 8)


@pytest.mark.parametrize("alpha", [6.0, 7.0, 8.0, 10.0, 12.0])
@pytest.mark.parametrize("side", [1, 2, 3, 5, 9, 32, 33, 224, 5000])
def test_modes_leave_out_a_millionth_of_the_variance_at_most(side, alpha):
    frequency = torch.fft.fftfreq(min(side, 2048), dtype=torch.float64) * min(side, 2048)
    k = torch.hypot(frequency[:, None], frequency)
    k[0, 0] = math.inf
    total = k.pow(-alpha).sum()
    amplitude, _ = _amplitudes(side, 2, alpha, torch.float64, torch.device("cpu"))
    # both sums count every mode of the full spectrum once
    assert -1e-9 * total <= total - amplitude.square().sum() <= 1e-6 * total


@pytest.mark.parametrize("size", [(16, 8000), (8000, 16), (1, 20_000), (3, 4, 6000)], ids=str)
def test_a_field_costs_what_its_few_modes_cost_whatever_the_shape(size):
    script = (
        "import resource, torch; from prorandconv.fields import draw_field\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"draw_field(({len(size)} * 9,), {size}, 10.0, torch.tensor(0.5)).dense()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    grown = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    dense = 4 * 9 * len(size) * math.prod(size)
    assert 1024 * int(grown.stdout) < 10 * dense + 50e6


def test_a_default_device_changes_nothing():
    with torch.device("meta"):
        # no other test draws this size: nothing is remembered of it
        field = draw_field((3,), (34, 21), 10.0, torch.ones((), device="cpu"))
        dense = field.dense()
    assert dense.device.type == "cpu"
    assert dense.std((1, 2), correction=0).tolist() == pytest.approx([1.0] * 3, abs=1e-4)
