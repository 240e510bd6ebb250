"""The kernels for GPUs compute what the reference computes, on the CPU in Triton's interpreter."""

import math
from dataclasses import replace

import pytest
import torch
from prorandconv.ops.block import Block, Contrast
from torchvision import tv_tensors

from prorandconv import ProRandConv, ProRandConvError, functional, ops
from prorandconv.ops import triton_engine


@pytest.fixture(autouse=True)
def _few_programs(monkeypatch):
    """The interpreter takes the programs in turn, so that fewer of them take less time."""
    monkeypatch.setattr(triton_engine, "_PROGRAMS", 1)


def convolution(scale, channels, kernel_size, size, count=2):
    x = torch.randn(count, channels, *size)
    weight = torch.randn(channels, channels, kernel_size, kernel_size)
    offsets = scale * torch.randn(2 * kernel_size**2, *size)
    return x, weight / (kernel_size * channels**0.5), offsets


@pytest.mark.parametrize(
    ("padding", "scale", "channels", "kernel_size", "size"),
    [
        ("zeros", 0.4, 3, 3, (5, 7)),
        ("zeros", 50.0, 5, 1, (4, 33)),
        ("zeros", 3.0, 1, 3, (1, 1)),
        ("reflect", 3.0, 2, 1, (9, 12)),
        ("reflect", 50.0, 1, 3, (1, 6)),
        ("reflect", 0.4, 1, 5, (3, 5)),
        ("replicate", 3.0, 2, 1, (9, 12)),
        ("replicate", 50.0, 1, 3, (6, 1)),
        ("replicate", 0.4, 1, 5, (3, 5)),
    ],
)
def test_a_convolution_is_that_of_the_reference(padding, scale, channels, kernel_size, size):
    x, weight, offsets = convolution(scale, channels, kernel_size, size)
    expected = functional.deform_conv(
        x.double(), weight.double(), offsets.double(), padding, engine="reference"
    )
    actual = functional.deform_conv(x, weight, offsets, padding, engine="triton")
    torch.testing.assert_close(actual.double(), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("padding", functional.PADDINGS)
def test_infinite_offsets_are_outside_whatever_the_padding(padding):
    x, weight, offsets = convolution(0.4, 1, 3, (4, 6))
    silent = weight.clone()
    silent.view(1, 1, 9)[..., [1, 3, 5, 7]] = 0
    expected = functional.deform_conv(x, silent, offsets, padding, engine="reference")
    for tap, value in zip((1, 3, 5, 7), (math.inf, -math.inf, math.nan, 1e9), strict=True):
        offsets[2 * tap + tap // 5] = value
    actual = functional.deform_conv(x, weight, offsets, padding, engine="triton")
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("c_in", "c_out"), [(2, 5), (3, 1)])
def test_channels_may_change_in_one_convolution(c_in, c_out):
    x, _, offsets = convolution(0.4, c_in, 1, (4, 6))
    weight = torch.randn(c_out, c_in, 1, 1)
    expected = functional.deform_conv(x, weight, offsets, engine="reference")
    actual = functional.deform_conv(x, weight, offsets, engine="triton")
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("parts", [(), ("standardise",), ("affine",), ("affine", "tanh")], ids=str)
@pytest.mark.parametrize("mode", ["batch", "sample"])
def test_parts_of_the_contrast_may_be_absent(parts, mode):
    x = torch.randn(2, 2, 5, 6)
    params = ProRandConv(kernel_size=1, repeats=2, mode=mode).draw(x)
    options = {"contrast": parts}
    expected = functional.apply(x.double(), params, **options, engine="reference")
    actual = functional.apply(x, params, **options, engine="triton")
    torch.testing.assert_close(actual.double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"offsets": None},
        {"offsets": (2.0, 9.0), "padding": "reflect"},
        {"weights": "different", "kernel_size": 1},
        {"mode": "sample"},
        {"mode": "sample", "weights": "different", "kernel_size": 1},
        {"mode": "sample", "p": 0.5, "padding": "replicate", "kernel_size": 1},
    ],
    ids=str,
)
def test_repetitions_follow_the_reference(options):
    x = torch.rand(2, 2, 5, 9) * 2 - 1
    params = ProRandConv(repeats=2, **options).draw(x)
    if params.per_image:
        params = replace(params, repeats=(1, 2))
    padding = options.get("padding", "zeros")
    expected = functional.apply(x.double(), params, padding=padding, engine="reference")
    actual = functional.apply(x, params, padding=padding, engine="triton")
    torch.testing.assert_close(actual.double(), expected, atol=1e-5, rtol=0)


def test_images_whose_number_of_repetitions_is_0_stay_as_they_are():
    x = torch.randn(3, 1, 4, 5)
    params = ProRandConv(1, repeats=1, mode="sample").draw(x)
    block = Block(params.weight, params.offsets.dense(), (4, 5), "zeros")
    contrast = Contrast(True, params.gamma, params.beta)
    repeats = (0, 1, 0)
    actual = ops.apply(x, block, contrast, repeats, "triton")
    expected = ops.apply(x, block, contrast, repeats, "reference")
    assert torch.equal(actual[[0, 2]], x[[0, 2]])
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_statistics_of_many_tiles_are_merged_exactly(shift, monkeypatch):
    """Some at a time, and far from zero too, where sums of squares would cancel."""
    monkeypatch.setattr(triton_engine, "_MERGED", 4)
    x = shift + torch.randn(2, 1, 18, 40)
    block = Block(torch.ones(1, 1, 1, 1), None, (18, 40), "zeros")
    actual = ops.apply(x, block, Contrast(tanh=False), 1, "triton")
    expected = functional.contrast(x.double(), tanh=False)
    torch.testing.assert_close(actual.double(), expected, atol=2e-4 if shift else 2e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_equals_the_reference_rounded(dtype):
    x = torch.randn(4, 2, 5, 6).to(dtype)
    augment = ProRandConv(1, repeats=2, p=0.5, engine="triton")
    params = augment.draw(x)
    y = augment(x, draw=params)
    assert y.dtype == dtype
    expected = functional.apply(x.double(), params, engine="reference")
    torch.testing.assert_close(y.double(), expected, atol=8e-3, rtol=8e-3)
    untouched = [n for n in range(4) if n not in params.selected]
    assert torch.equal(y[untouched], x[untouched])


@pytest.mark.parametrize("mode", ["batch", "sample"])
def test_a_replay_is_the_same_bit_for_bit(mode):
    x = torch.randn(2, 1, 5, 33)
    augment = ProRandConv(1, repeats=2, mode=mode, engine="triton")
    params = augment.draw(x)
    y = augment(x, draw=params)
    assert torch.equal(augment(x, draw=params), y)


def test_an_image_is_the_same_alone_and_in_a_batch():
    x = torch.randn(3, 1, 5, 9)
    augment = ProRandConv(1, repeats=2, engine="triton")
    params = augment.draw(x)
    assert torch.equal(augment(x, draw=params)[1:2], augment(x[1:2], draw=params))


def test_views_are_read_as_what_they_show():
    x, weight, offsets = convolution(0.4, 2, 1, (4, 6))
    expected = functional.deform_conv(x, weight, offsets, engine="triton")
    turned = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    assert torch.equal(functional.deform_conv(turned, weight, offsets, engine="triton"), expected)


def test_labels_move_as_with_any_engine():
    x = torch.randn(2, 1, 8, 9)
    mask = tv_tensors.Mask(torch.randint(0, 5, (2, 8, 9)))
    options = {"kernel_size": 1, "repeats": 2, "offsets": (2.0, 2.0), "labels": "move"}
    params = ProRandConv(**options).draw(x)
    image, moved = ProRandConv(**options, engine="triton")(x, mask, draw=params)
    other_image, other = ProRandConv(**options, engine="reference")(x, mask, draw=params)
    assert not torch.equal(moved, mask)
    assert torch.equal(moved, other)
    torch.testing.assert_close(image, other_image, atol=1e-5, rtol=0)


@pytest.mark.parametrize("mode", ["batch", "sample"])
def test_compiled_code_passes_over_the_operator_without_a_graph_break(mode):
    torch._dynamo.reset()
    x = torch.randn(2, 1, 4, 5)
    params = ProRandConv(1, repeats=1, mode=mode).draw(x)

    def augment(x):
        return 2 * functional.apply(x, params, engine="triton")

    expected = augment(x)
    compiled = torch.compile(augment, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), expected)


def test_the_operator_is_registered_soundly():
    x, weight, offsets = convolution(0.4, 1, 1, (4, 5))
    arguments = (x, weight, offsets, torch.randn(1), torch.randn(1))
    operator = torch.ops.prorandconv.triton_block.default
    torch.library.opcheck(operator, (*arguments, True, True, 1e-5, [1], "zeros"))


class TestRefusals:
    """The kernels trust addresses and shapes, so the operator checks them."""

    def call(self, **changed):
        arguments = {
            "images": torch.randn(2, 1, 4, 5),
            "weight": torch.randn(1, 1, 1, 1),
            "offsets": torch.randn(2, 4, 5),
            "gamma": torch.randn(1),
            "beta": torch.randn(1),
        }
        arguments |= {name: change(arguments[name]) for name, change in changed.items()}
        return triton_engine.triton_block(*arguments.values(), True, True, 1e-5, [1], "zeros")

    @pytest.mark.parametrize("name", ["images", "weight", "offsets", "gamma", "beta"])
    def test_other_numbers(self, name):
        with pytest.raises(ProRandConvError, match=f"^{name}: got .*, expected torch.float32"):
            self.call(**{name: torch.Tensor.double})

    @pytest.mark.parametrize("name", ["weight", "offsets", "gamma", "beta"])
    def test_other_shapes(self, name):
        with pytest.raises(ProRandConvError, match=f"^{name}: got .*, expected the shape"):
            self.call(**{name: lambda tensor: tensor.unsqueeze(0)})

    def test_double_precision_by_name(self):
        x = torch.randn(2, 1, 4, 5, dtype=torch.float64)
        with pytest.raises(ProRandConvError, match=r"^engine: got 'triton', expected .*float64"):
            ProRandConv(engine="triton")(x)


@pytest.mark.slow
def test_ten_repetitions_stay_near_the_double_precision_reference():
    x = torch.rand(2, 3, 12, 33) * 2 - 1
    params = ProRandConv(repeats=10).draw(x)
    expected = functional.apply(x.double(), params, engine="reference")
    actual = functional.apply(x, params, engine="triton")
    torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=0)
