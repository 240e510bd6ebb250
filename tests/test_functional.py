from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torchvision.transforms import v2

from prorandconv import Options, ProRandConv, ProRandConvError, RandConv, functional


@pytest.mark.parametrize("kernel_size", [1, 3, 7])
@pytest.mark.parametrize(("padding", "mode"), [("zeros", "constant"), ("reflect", "reflect")])
def test_random_conv_is_a_convolution_of_the_same_size(kernel_size, padding, mode):
    x, weight = torch.randn(2, 3, 9, 11), torch.randn(3, 3, kernel_size, kernel_size)
    expected = F.conv2d(F.pad(x, [kernel_size // 2] * 4, mode=mode), weight)
    torch.testing.assert_close(functional.random_conv(x, weight, padding), expected)


def test_gaussian_window_is_the_formula():
    window = functional.gaussian_window(5, 0.8, dtype=torch.float64)
    for i in range(-2, 3):
        for j in range(-2, 3):
            expected = torch.tensor(-(i**2 + j**2) / (2 * 0.8**2), dtype=torch.float64).exp()
            torch.testing.assert_close(window[i + 2, j + 2], expected)


def test_gaussian_window_of_many_widths():
    sigma = torch.tensor([0.3, 0.7])
    windows = functional.gaussian_window(3, sigma)
    assert windows.shape == (2, 3, 3)
    torch.testing.assert_close(windows[1], functional.gaussian_window(3, 0.7))


def test_narrow_window_leaves_a_one_by_one_kernel():
    x, weight = torch.randn(2, 3, 8, 8), torch.randn(3, 3, 3, 3)
    smoothed = weight * functional.gaussian_window(3, 1e-2)
    expected = F.conv2d(x, weight[:, :, 1:2, 1:2])
    torch.testing.assert_close(functional.random_conv(x, smoothed), expected)
    offsets = torch.zeros(18, 8, 8)
    torch.testing.assert_close(functional.deform_conv(x, smoothed, offsets), expected)


def test_contrast_is_the_formula():
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    gamma, beta = torch.randn(2, 3, dtype=torch.float64)
    mean, variance = x.mean((2, 3)), x.var((2, 3), correction=0)
    for n in range(2):
        for c in range(3):
            standardised = (x[n, c] - mean[n, c]) / (variance[n, c] + 1e-5).sqrt()
            expected = (gamma[c] * standardised + beta[c]).tanh()
            actual = functional.contrast(x, gamma, beta)[n, c]
            torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("off", ["standardise", "affine", "tanh"])
def test_each_part_of_contrast_can_be_switched_off(off):
    x, gamma, beta = torch.randn(2, 3, 8, 8), torch.tensor([2.0, 3, 4]), torch.tensor([5.0, 6, 7])
    steps = {
        "standardise": lambda x: functional.contrast(x, affine=False, tanh=False),
        "affine": lambda x: x * gamma.view(3, 1, 1) + beta.view(3, 1, 1),
        "tanh": torch.tanh,
    }
    expected = x
    for name, step in steps.items():
        expected = expected if name == off else step(expected)
    actual = functional.contrast(x, gamma, beta, **{off: False})
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("mode", ["batch", "sample"])
def test_gamma_zero_gives_tanh_beta_everywhere(mode):
    x = torch.randn(4, 3, 16, 16)
    augment = ProRandConv(mode=mode)
    draw = augment.draw(x)
    draw = replace(draw, gamma=torch.zeros_like(draw.gamma))
    expected = draw.beta.tanh()[..., None, None].expand(4, 3, 16, 16)
    torch.testing.assert_close(augment(x, draw=draw), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("repeats", [1, 2, 7])
def test_repetitions_equal_single_calls(repeats):
    x = torch.randn(4, 3, 24, 20)
    augment = ProRandConv()
    draw = replace(augment.draw(x), repeats=repeats)
    once = replace(draw, repeats=1)
    expected = x
    for _ in range(repeats):
        expected = functional.apply(expected, once)
    assert torch.equal(functional.apply(x, draw), expected)


def test_different_weights_are_used_one_after_the_other():
    x = torch.randn(2, 3, 12, 12)
    draw = ProRandConv(repeats=3, weights="different").draw(x)
    assert draw.weight.shape == (3, 3, 3, 3, 3)
    expected = x
    for weight in draw.weight:
        same = replace(draw, weight=weight, repeats=1)
        expected = functional.apply(expected, same)
    torch.testing.assert_close(functional.apply(x, draw), expected)


@pytest.mark.parametrize(("scale", "shift"), [(3.0, 0.0), (2.0, -4.0), (10.0, 7.0)])
def test_standardisation_makes_brightness_and_contrast_of_the_input_irrelevant(scale, shift):
    # with "replicate" a constant stays a constant under convolution, so that a shift cancels
    x = torch.randn(2, 3, 24, 24, dtype=torch.float64)
    augment = ProRandConv(padding="replicate", repeats=1)
    draw = augment.draw(x)
    expected = augment(x, draw=draw)
    # eps in the root breaks the law by about eps / variance
    torch.testing.assert_close(augment(scale * x + shift, draw=draw), expected, atol=1e-3, rtol=0)


def test_standardisation_makes_the_scale_of_the_weights_irrelevant():
    x = torch.randn(2, 3, 24, 24, dtype=torch.float64)
    augment = ProRandConv()
    draw = replace(augment.draw(x), repeats=1)
    larger = replace(draw, weight=draw.weight * 50)
    torch.testing.assert_close(augment(x, draw=larger), augment(x, draw=draw), atol=1e-3, rtol=0)


def test_mirrored_parameters_mirror_the_image():
    """Equivariance: mirror image, kernel and offsets, and the result is the mirror image."""
    x, weight = torch.randn(2, 3, 10, 13).double(), torch.randn(3, 3, 3, 3).double()
    offsets = 0.7 * torch.randn(3, 3, 2, 10, 13).double()
    mirrored = offsets.flip(1, 4) * torch.tensor([1.0, -1.0]).view(2, 1, 1)
    expected = functional.deform_conv(x, weight, offsets.flatten(0, 2)).flip(3)
    actual = functional.deform_conv(x.flip(3), weight.flip(3), mirrored.flatten(0, 2))
    torch.testing.assert_close(actual, expected)


def test_rand_conv_mixes_with_the_original_by_the_drawn_share():
    x = torch.randn(2, 3, 16, 16)
    augment = RandConv((3,), mix=True, identity=0.0)
    draw = augment.draw(x)
    convolved = functional.random_conv(x, draw.weight)
    expected = draw.mix * x + (1 - draw.mix) * convolved
    torch.testing.assert_close(augment(x, draw=draw), expected)


def test_clamp_bounds_to_normalised_pixels():
    x = 100 * torch.randn(2, 3, 16, 16)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    augment = ProRandConv(contrast=False, offsets=None, smoothing=None, mean=mean, std=std)
    y = augment(x)
    for c in range(3):
        assert y[:, c].min().item() == pytest.approx((0 - mean[c]) / std[c], rel=1e-6)
        assert y[:, c].max().item() == pytest.approx((1 - mean[c]) / std[c], rel=1e-6)


def test_standardise_bounds_to_unit_variance():
    x = 100 * torch.randn(2, 3, 16, 16)
    y = ProRandConv(contrast=False, bound="standardise", weight_std=1.0)(x)
    torch.testing.assert_close(y.std((2, 3), correction=0), torch.ones(2, 3), atol=1e-3, rtol=0)


def test_no_bound_lets_ten_plain_repetitions_grow():
    x = torch.randn(2, 3, 16, 16)
    plain = ProRandConv(contrast=False, offsets=None, smoothing=None, weight_std=1.0, repeats=10)
    assert plain(x).abs().max() <= 1
    unbounded = ProRandConv(
        contrast=False, offsets=None, smoothing=None, weight_std=1.0, repeats=10, bound=None
    )
    assert unbounded(x).abs().max() > 1e3


def test_pixels_output_maps_tanh_to_normalised_pixels():
    x = torch.randn(2, 3, 16, 16)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    augment = ProRandConv(output="pixels", mean=mean, std=std)
    draw = augment.draw(x)
    plain = functional.apply(x, replace(draw, options=Options()))
    expected = v2.functional.normalize((plain + 1) / 2, mean, std)
    torch.testing.assert_close(augment(x, draw=draw), expected)


@pytest.mark.parametrize("options", [{}, {"offsets": None}, {"mode": "sample"}, {"p": 0.5}])
def test_compiles_without_a_graph_break(options):
    torch._dynamo.reset()
    x = torch.randn(4, 3, 16, 16)
    augment = ProRandConv(repeats=2, **options)
    draw = augment.draw(x)
    compiled = torch.compile(functional.apply, fullgraph=True, backend="aot_eager")
    expected = functional.apply(x, draw)
    torch.testing.assert_close(compiled(x, draw), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mode", ["batch", "sample"])
@pytest.mark.parametrize("weights", ["same", "different"])
@pytest.mark.parametrize("shape", [(2, 0, 8, 8), (2, 3, 0, 8), (2, 3, 8, 0), (0, 3, 8, 8)], ids=str)
def test_images_without_a_pixel_are_drawn_for_and_returned(shape, mode, weights):
    x = torch.empty(shape)
    draw = ProRandConv(mode=mode, weights=weights, p=0.5).draw(x)
    assert functional.apply(x, draw).shape == shape
    draw = RandConv(mode=mode, mix=True, identity=0.0).draw(x)
    assert functional.apply(x, draw).shape == shape


@pytest.mark.parametrize("engine", ["auto", "eager", "reference"])
@pytest.mark.parametrize("shape", [(2, 0, 8, 8), (2, 3, 0, 8), (2, 3, 8, 0), (0, 3, 8, 8)], ids=str)
def test_a_convolution_of_nothing_is_zero(shape, engine):
    count, channels, height, width = shape
    x, weight = torch.empty(shape), torch.randn(5, channels, 3, 3)
    expected = torch.zeros(count, 5, height, width)
    assert torch.equal(functional.random_conv(x, weight), expected)
    offsets = torch.zeros(18, height, width)
    assert torch.equal(functional.deform_conv(x, weight, offsets, engine=engine), expected)


@pytest.mark.parametrize("options", [{}, {"mode": "sample"}, {"weights": "different"}, {"p": 0.5}])
def test_meta_images_come_out_with_their_shape(options):
    x = torch.empty(4, 3, 8, 9, dtype=torch.float16, device="meta")
    y = functional.apply(x, ProRandConv(**options, mean=0.4, output="pixels").draw(x))
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)


X = torch.zeros(2, 3, 8, 8)
WEIGHT = torch.zeros(3, 3, 3, 3)
OFFSETS = torch.zeros(18, 8, 8)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: functional.random_conv(X.byte(), WEIGHT), "x"),
        (lambda: functional.random_conv(X[0], WEIGHT), "x"),
        (lambda: functional.random_conv(X, torch.zeros(3, 1, 3, 3)), "weight"),
        (lambda: functional.random_conv(X, torch.zeros(3, 3, 2, 2)), "weight, k"),
        (lambda: functional.random_conv(X, torch.zeros(3, 3, 3, 1)), "weight"),
        (lambda: functional.random_conv(X, WEIGHT, "wrap"), "padding"),
        (lambda: functional.deform_conv(X, WEIGHT, torch.zeros(9, 8, 8)), "offsets"),
        (lambda: functional.deform_conv(X, WEIGHT, torch.zeros(18, 8, 7)), "offsets"),
        (lambda: functional.deform_conv(X, WEIGHT, OFFSETS, engine="gpu"), "engine"),
        (lambda: functional.random_conv(X.half(), WEIGHT), "weight"),
        (lambda: functional.random_conv(X, WEIGHT.to("meta")), "weight"),
        (lambda: functional.deform_conv(X.half(), WEIGHT, OFFSETS), "weight"),
        (lambda: functional.deform_conv(X.double(), WEIGHT, OFFSETS), "weight"),
        (lambda: functional.deform_conv(X, WEIGHT.double(), OFFSETS), "weight"),
        (lambda: functional.deform_conv(X, WEIGHT, OFFSETS.double()), "offsets"),
        (lambda: functional.deform_conv(X, WEIGHT, OFFSETS.to("meta")), "offsets"),
        (lambda: functional.contrast(X, torch.ones(3).double(), torch.ones(3)), "gamma"),
        (lambda: functional.contrast(X, torch.ones(3), torch.ones(3).half()), "beta"),
        (lambda: functional.contrast(X, torch.ones(1), torch.ones(3)), "gamma"),
        (lambda: functional.contrast(X, torch.ones(3), torch.ones(2, 3)), "beta"),
        (lambda: functional.contrast(X.byte()), "x"),
        (lambda: functional.gaussian_window(4, 1.0), "kernel_size"),
        (lambda: functional.contrast(X, gamma=torch.ones(3)), "gamma, beta"),
        (lambda: functional.contrast(X, eps=-1), "eps"),
        (lambda: functional.apply(X.byte(), ProRandConv().draw(X)), "x"),
        (lambda: functional.apply(X, ProRandConv().draw(X), engine="gpu"), "engine"),
    ],
)
def test_wrong_arguments_are_named(call, named):
    with pytest.raises(ProRandConvError, match=f"^{named}: got .*, expected "):
        call()
