"""Every engine computes the same thing: the paper's formula, and torchvision's operator."""

import hypothesis.strategies as st
import pytest
import torch
import torch.nn.functional as F
import torchvision
from hypothesis import given

from prorandconv import functional, ops
from prorandconv.ops.block import Block, Contrast

ENGINES = [engine for engine in ops.ENGINES if engine != "auto"]
PADDINGS = functional.PADDINGS


def torchvision_deform_conv(x, weight, offsets):
    expanded = offsets.expand(len(x), *offsets.shape).contiguous()
    return torchvision.ops.deform_conv2d(x, expanded, weight, padding=weight.shape[-1] // 2)


@st.composite
def convolutions(draw):
    """Images, weights and offsets of any shape, and of any size of offsets."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    count, channels = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    kernel_size = draw(st.sampled_from([1, 3, 5]))
    scale = draw(st.sampled_from([0.0, 0.1, 0.4, 3.0, 50.0]))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    like = {"generator": generator, "dtype": dtype}
    x = torch.randn(count, channels, height, width, **like)
    weight = torch.randn(channels, channels, kernel_size, kernel_size, **like)
    offsets = scale * torch.randn(2 * kernel_size**2, height, width, **like)
    return x, weight / (kernel_size * channels**0.5), offsets


@pytest.mark.parametrize("engine", ENGINES)
@given(convolution=convolutions())
def test_equals_torchvision(engine, convolution):
    x, weight, offsets = convolution
    expected = torchvision_deform_conv(x, weight, offsets)
    actual = functional.deform_conv(x, weight, offsets, engine=engine)
    tolerance = 1e-5 if x.dtype == torch.float32 else 1e-10
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("padding", PADDINGS)
@given(convolution=convolutions())
def test_engines_agree_for_each_padding(engine, padding, convolution):
    x, weight, offsets = (t.double() for t in convolution)
    expected = functional.deform_conv(x, weight, offsets, padding, engine="reference")
    actual = functional.deform_conv(x, weight, offsets, padding, engine=engine)
    torch.testing.assert_close(actual, expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("padding", "torch_name"), [("reflect", "reflect"), ("replicate", "replicate")]
)
def test_padding_continues_the_image_as_torch_pads(engine, dtype, padding, torch_name):
    x, weight = torch.randn(2, 3, 9, 7, dtype=dtype), torch.randn(3, 3, 5, 5, dtype=dtype)
    expected = F.conv2d(F.pad(x, (2, 2, 2, 2), mode=padding), weight)
    actual = functional.deform_conv(x, weight, x.new_zeros(50, 9, 7), padding, engine=engine)
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [(8, 8), (33, 20), (1, 1), (1, 5)])
@pytest.mark.parametrize("kernel_size", [1, 3, 7])
def test_zero_offsets_are_a_plain_convolution(engine, size, kernel_size):
    x, weight = torch.randn(2, 3, *size), torch.randn(3, 3, kernel_size, kernel_size)
    expected = F.conv2d(x, weight, padding=kernel_size // 2)
    zero = torch.zeros(2 * kernel_size**2, *size)
    actual = functional.deform_conv(x, weight, zero, engine=engine)
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_offsets_move_the_image(engine):
    x, weight = torch.randn(1, 1, 6, 6), torch.ones(1, 1, 1, 1)
    offsets = torch.stack((torch.full((6, 6), 2.0), torch.full((6, 6), -1.0)))
    moved = functional.deform_conv(x, weight, offsets, engine=engine)
    torch.testing.assert_close(moved[0, 0, :4, 1:], x[0, 0, 2:, :5])
    assert moved[0, 0, 4:].eq(0).all()
    assert moved[0, 0, :, 0].eq(0).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_offsets_far_outside_leave_nothing(engine):
    x, weight = torch.randn(2, 3, 8, 8), torch.randn(3, 3, 3, 3)
    far = torch.full((18, 8, 8), 1e6)
    assert functional.deform_conv(x, weight, far, engine=engine).eq(0).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("standardise", "affine", "tanh"), [
    (True, True, True),
    (False, True, True),
    (True, False, True),
    (True, True, False),
    (False, False, False),
])  # fmt: skip
@pytest.mark.parametrize("offset_scale", [None, 0.2, 2.0])
def test_repetitions_follow_the_formula(engine, standardise, affine, tanh, offset_scale):
    x = torch.randn(3, 3, 21, 18, dtype=torch.float64)
    weight = torch.randn(3, 3, 3, 3, dtype=torch.float64) / 5
    offsets = None
    if offset_scale is not None:
        offsets = offset_scale * torch.randn(18, 21, 18, dtype=torch.float64)
    gamma, beta = torch.randn(2, 3, dtype=torch.float64) if affine else (None, None)
    expected = x
    for _ in range(3):
        still = torch.zeros(18, 21, 18, dtype=torch.float64) if offsets is None else offsets
        expected = torchvision_deform_conv(expected, weight, still)
        expected = functional.contrast(expected, gamma, beta, standardise=standardise, tanh=tanh)
    operator = ops.prepare(Block(weight, offsets, (21, 18), "zeros"), engine)
    actual = ops.apply(operator, x, Contrast(standardise, gamma, beta, tanh), 3)
    torch.testing.assert_close(actual, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_channels_may_change_in_one_convolution(engine):
    x, weight = torch.randn(2, 3, 8, 9), torch.randn(5, 3, 3, 3)
    offsets = 0.3 * torch.randn(18, 8, 9)
    expected = torchvision_deform_conv(x, weight, offsets)
    actual = functional.deform_conv(x, weight, offsets, engine=engine)
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "reference"])
@pytest.mark.parametrize("size", [(32, 32), (17, 23), (100, 90)])
@pytest.mark.parametrize("offset_scale", [0.1, 2.0])
def test_an_image_comes_out_the_same_bits_alone_and_in_a_batch(engine, size, offset_scale):
    x, weight = torch.randn(33, 3, *size), torch.randn(3, 3, 3, 3) / 5
    offsets = offset_scale * torch.randn(18, *size)
    gamma, beta = torch.randn(2, 3)
    operator = ops.prepare(Block(weight, offsets, size, "zeros"), engine)
    contrast = Contrast(True, gamma, beta, True)
    together = ops.apply(operator, x, contrast, 4)
    for some in (slice(0, 1), slice(4, 6), slice(7, 10), slice(20, 33)):
        assert torch.equal(ops.apply(operator, x[some], contrast, 4), together[some])


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_are_those_of_the_formula(engine):
    x = torch.randn(1, 2, 5, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    offsets = 0.4 * torch.randn(18, 5, 4, dtype=torch.float64) + 0.05
    convolve = lambda x, w: functional.deform_conv(x, w, offsets, engine=engine)  # noqa: E731
    assert torch.autograd.gradcheck(convolve, (x, weight))


def test_eager_engine_needs_no_value_on_the_host():
    """Meta tensors hold no values: reading one, or a shape that depends on one, would raise."""
    for reach in (0.5, None):
        block = Block(
            torch.empty(3, 3, 3, 3, device="meta"),
            torch.empty(18, 16, 16, device="meta"),
            (16, 16),
            "zeros",
            reach,
        )
        operator = ops.prepare(block, "eager")
        contrast = Contrast(True, torch.empty(3, device="meta"), torch.empty(3, device="meta"))
        result = ops.apply(operator, torch.empty(4, 3, 16, 16, device="meta"), contrast, 2)
        assert result.shape == (4, 3, 16, 16)
