"""Every engine computes the same thing: the paper's formula, and torchvision's operator."""

import functools
import math
from dataclasses import replace

import hypothesis.strategies as st
import pytest
import torch
import torch.nn.functional as F
import torchvision
from hypothesis import given
from prorandconv.ops.block import Block, Contrast
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from prorandconv import ProRandConv, ProRandConvError, functional, ops
from prorandconv.ops import native

without_native = pytest.mark.skipif(
    ops.engines()["native"].startswith("the "), reason=ops.engines()["native"]
)
NATIVE = pytest.param("native", marks=without_native)
ENGINES = ["reference", "eager", NATIVE]
PRECISIONS = [
    ("reference", torch.float32),
    ("reference", torch.float64),
    ("eager", torch.float32),
    ("eager", torch.float64),
    pytest.param("native", torch.float32, marks=without_native),
]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
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
    like = {"generator": generator, "dtype": torch.float64}
    x = torch.randn(count, channels, height, width, **like)
    weight = torch.randn(channels, channels, kernel_size, kernel_size, **like)
    offsets = scale * torch.randn(2 * kernel_size**2, height, width, **like)
    return x, weight / (kernel_size * channels**0.5), offsets


@pytest.mark.parametrize(("engine", "dtype"), PRECISIONS)
@given(convolution=convolutions())
def test_equals_torchvision(engine, dtype, convolution):
    x, weight, offsets = (t.to(dtype) for t in convolution)
    expected = torchvision_deform_conv(x, weight, offsets)
    actual = functional.deform_conv(x, weight, offsets, engine=engine)
    torch.testing.assert_close(actual, expected, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize(("engine", "dtype"), PRECISIONS[2:])
@pytest.mark.parametrize("padding", PADDINGS)
@given(convolution=convolutions())
def test_engines_agree_with_the_reference_for_each_padding(engine, dtype, padding, convolution):
    # rounded first: then both see the same offsets, and only arithmetic differs
    x, weight, offsets = (t.to(dtype) for t in convolution)
    expected = functional.deform_conv(
        x.double(), weight.double(), offsets.double(), padding, engine="reference"
    )
    actual = functional.deform_conv(x, weight, offsets, padding, engine=engine)
    torch.testing.assert_close(actual.double(), expected, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize(("engine", "dtype"), PRECISIONS)
@pytest.mark.parametrize("padding", ["reflect", "replicate"])
def test_padding_continues_the_image_as_torch_pads(engine, dtype, padding):
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
def test_shared_offsets_bend_the_convolved_image_as_a_whole(engine):
    x = torch.randn(2, 3, 24, 32)
    params = ProRandConv(shared_offsets=True, offsets=(2.0, 2.0), repeats=1).draw(x)
    bent = functional.apply(x, params, contrast=(), engine=engine)
    identity = torch.eye(3)[:, :, None, None]
    plain = F.conv2d(F.pad(x, (9,) * 4), params.weight)  # the same beyond the border
    field = F.pad(params.offsets.dense()[:2], (8,) * 4)
    expected = functional.deform_conv(plain, identity, field, engine="reference")
    torch.testing.assert_close(bent, expected[..., 8:-8, 8:-8], atol=1e-4, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_offsets_far_outside_leave_nothing(engine):
    x, weight = torch.randn(2, 3, 8, 8), torch.randn(3, 3, 3, 3)
    far = torch.full((18, 8, 8), 1e6)
    assert functional.deform_conv(x, weight, far, engine=engine).eq(0).all()


@pytest.mark.parametrize(("engine", "dtype"), PRECISIONS)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", ["batch", "sample"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e9])
def test_infinite_offsets_are_outside_whatever_the_padding(engine, dtype, padding, mode, value):
    x = torch.randn(2, 3, 9, 7, dtype=dtype)
    params = ProRandConv(repeats=1, mode=mode).draw(x)
    offsets, silent = params.offsets.dense(), params.weight.clone()
    offsets[..., 6, :, :] = offsets[..., 11, :, :] = value  # dy of tap 3, dx of tap 5
    silent[..., 1, 0] = silent[..., 1, 2] = 0
    options = {"contrast": (), "padding": padding}
    expected = functional.apply(x, replace(params, weight=silent), **options)
    broken = replace(params, offsets=offsets)
    actual = functional.apply(x, broken, **options, engine=engine)
    torch.testing.assert_close(actual, expected, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize(("engine", "dtype"), PRECISIONS)
@pytest.mark.parametrize(("standardise", "affine", "tanh"), [
    (True, True, True),
    (False, True, True),
    (True, False, True),
    (True, True, False),
    (False, False, False),
])  # fmt: skip
@pytest.mark.parametrize("offset_scale", [None, 0.2, 2.0])
def test_repetitions_follow_the_formula(engine, dtype, standardise, affine, tanh, offset_scale):
    x = torch.randn(3, 3, 21, 18, dtype=torch.float64)
    weight = torch.randn(3, 3, 3, 3, dtype=torch.float64) / 5
    offsets = torch.zeros(18, 21, 18, dtype=torch.float64)
    if offset_scale is not None:
        offsets = offset_scale * torch.randn(18, 21, 18, dtype=torch.float64)
    gamma, beta = torch.randn(2, 3, dtype=torch.float64) if affine else (None, None)
    expected = x
    for _ in range(3):
        expected = torchvision_deform_conv(expected, weight, offsets)
        expected = functional.contrast(expected, gamma, beta, standardise=standardise, tanh=tanh)
    given_offsets = None if offset_scale is None else offsets.to(dtype)
    block = Block(weight.to(dtype), given_offsets, (21, 18), "zeros")
    if affine:
        gamma, beta = gamma.to(dtype), beta.to(dtype)
    actual = ops.apply(x.to(dtype), block, Contrast(standardise, gamma, beta, tanh), 3, engine)
    tolerance = {torch.float32: 1e-4, torch.float64: 1e-10}[dtype]
    torch.testing.assert_close(actual.double(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(5))
def test_ten_repetitions_stay_near_the_double_precision_reference(engine, seed):
    x = torch.rand(4, 3, 40, 32, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    params = ProRandConv(repeats=10).draw(x, torch.Generator().manual_seed(seed))
    expected = functional.apply(x.double(), params, engine="reference")
    actual = functional.apply(x, params, engine=engine)
    torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=0)


class TestOneDrawPerImage:
    """mode="sample": every engine serves it, with the same results."""

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("channels", [1, 3, 4])
    @pytest.mark.parametrize("kernel_size", [1, 3, 5])
    def test_ten_repetitions_stay_near_the_double_precision_reference(
        self, engine, channels, kernel_size
    ):
        x = torch.rand(5, channels, 19, 27) * 2 - 1
        params = ProRandConv(kernel_size, repeats=10, mode="sample").draw(x)
        expected = functional.apply(x.double(), params, engine="reference")
        actual = functional.apply(x, params, engine=engine)
        torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=0)

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("seed", range(5))
    def test_positions_far_from_the_corner_are_as_exact(self, engine, seed):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(4, 3, 64, 64, generator=generator).clamp(-1, 1)
        augment = ProRandConv(5, repeats=10, mode="sample", offsets=(0.01, 0.5))
        params = augment.draw(x, generator)
        expected = functional.apply(x.double(), params, engine="reference")
        actual = functional.apply(x, params, engine=engine)
        torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=0)

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"offsets": None},
            {"offsets": (1.0, 4.0)},
            {"shared_offsets": True},
            {"weights": "different"},
            {"padding": "reflect"},
            {"padding": "replicate", "kernel_size": 5},
            {"contrast": ("affine", "tanh")},
            {"contrast": ("standardise",)},
            {"contrast": False},
        ],
        ids=str,
    )
    def test_each_image_is_as_alone_with_its_own_draw(self, engine, options):
        x = torch.randn(6, 3, 21, 18)
        augment = ProRandConv(mode="sample", max_repeats=4, engine=engine, **options)
        params = augment.draw(x)
        y = augment(x, draw=params)
        assert torch.equal(augment(x, draw=params), y), "replays bit for bit"
        alone = ProRandConv(max_repeats=4, engine=engine, **options)
        for image, own, result in zip(x, params.split(), y, strict=True):
            torch.testing.assert_close(alone(image, draw=own), result, atol=2e-5, rtol=1e-5)

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_and_a_share_of_the_images(self, engine, dtype):
        x = torch.randn(6, 3, 12, 17).to(dtype)
        augment = ProRandConv(mode="sample", max_repeats=3, p=0.5, engine=engine)
        params = augment.draw(x)
        y = augment(x, draw=params)
        assert y.dtype == dtype
        expected = functional.apply(x.double(), params, engine="reference")
        torch.testing.assert_close(y.double(), expected, atol=8e-3, rtol=8e-3)
        others = [n for n in range(6) if n not in params.selected]
        assert len(others) == 3
        assert torch.equal(y[others], x[others])

    @without_native
    def test_number_of_threads_does_not_change_a_bit(self):
        x = torch.randn(7, 3, 24, 20)
        augment = ProRandConv(mode="sample", max_repeats=3, engine="native")
        params = augment.draw(x)
        threads = torch.get_num_threads()
        results = []
        try:
            for number in (1, 2, 3):
                torch.set_num_threads(number)
                results.append(augment(x, draw=params))
        finally:
            torch.set_num_threads(threads)
        assert all(torch.equal(results[0], other) for other in results)

    @pytest.mark.parametrize("has_offsets", [True, False])
    def test_eager_engine_needs_no_value_on_the_host(self, has_offsets):
        weight = torch.empty(4, 3, 3, 3, 3, device="meta")
        offsets = torch.empty(4, 18, 16, 16, device="meta") if has_offsets else None
        block = Block(weight, offsets, (16, 16), "zeros")
        affine = torch.empty(2, 4, 3, device="meta")
        images = torch.empty(4, 3, 16, 16, device="meta")
        result = ops.apply(images, block, Contrast(True, *affine), (2, 0, 1, 3), "eager")
        assert result.shape == (4, 3, 16, 16)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("channels", "kernel_size", "size"), [(1, 5, (9, 30)), (3, 3, (33, 20)), (4, 1, (16, 16))]
)
def test_half_precision_equals_the_reference_rounded(engine, dtype, channels, kernel_size, size):
    x = torch.randn(4, channels, *size).to(dtype)
    augment = ProRandConv(kernel_size, repeats=3, p=0.5, engine=engine)
    params = augment.draw(x)
    y = augment(x, draw=params)
    assert y.dtype == dtype
    assert torch.equal(augment(x, draw=params), y)
    expected = functional.apply(x.double(), params, engine="reference")
    torch.testing.assert_close(y.double(), expected, atol=8e-3, rtol=8e-3)
    untouched = [n for n in range(4) if n not in params.selected]
    assert len(untouched) == 2
    assert torch.equal(y[untouched], x[untouched])


@pytest.mark.parametrize("engine", ["reference", "eager", "auto"])
def test_channels_may_change_in_one_convolution(engine):
    x, weight = torch.randn(2, 3, 8, 9), torch.randn(5, 3, 3, 3)
    offsets = 0.3 * torch.randn(18, 8, 9)
    expected = torchvision_deform_conv(x, weight, offsets)
    actual = functional.deform_conv(x, weight, offsets, engine=engine)
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


@pytest.fixture(params=[(32, 32), (17, 23), (100, 90)], ids=str)
def rough_draw(request):
    """33 images, and what applies a draw with rough offsets, small or large, to some of them."""
    size = request.param

    def apply(offset_scale, engine):
        x, weight = torch.randn(33, 3, *size), torch.randn(3, 3, 3, 3) / 5
        block = Block(weight, offset_scale * torch.randn(18, *size), size, "zeros")
        contrast = Contrast(True, *torch.randn(2, 3), True)
        return lambda some: ops.apply(x[some], block, contrast, 4, engine)

    return apply


@pytest.mark.parametrize("offset_scale", [0.1, 2.0])
class TestTheBatch:
    """What an image becomes does not depend on the images beside it."""

    FEW = (slice(4, 5), slice(4, 6), slice(3, 7))
    """so few images of a draw that an engine has another way for them"""

    @pytest.mark.parametrize("engine", ["eager", NATIVE])
    def test_an_image_has_the_same_bits_among_many(self, rough_draw, offset_scale, engine):
        draw = rough_draw(offset_scale, engine)
        together = draw(slice(33))
        for some in (slice(0, 5), slice(7, 15), slice(20, 33)):
            assert torch.equal(draw(some), together[some])

    @pytest.mark.parametrize("engine", ["eager", NATIVE])
    def test_an_image_has_the_same_bits_alone_and_among_few(self, rough_draw, offset_scale, engine):
        draw = rough_draw(offset_scale, engine)
        alone = draw(slice(4, 5))[0]
        for some in self.FEW:
            assert torch.equal(draw(some)[4 - some.start], alone)

    @pytest.mark.parametrize("engine", ["eager", NATIVE])
    def test_few_images_are_only_rounded_differently(self, rough_draw, offset_scale, engine):
        draw = rough_draw(offset_scale, engine)
        together = draw(slice(33))
        for some in self.FEW:
            torch.testing.assert_close(draw(some), together[some], atol=1e-4, rtol=0)


class Largest(TorchDispatchMode):
    """Notes the most numbers that an operator has returned."""

    numbers = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


@pytest.mark.parametrize("padding", PADDINGS)
def test_eager_engine_makes_nothing_larger_than_a_large_image(padding):
    x = torch.rand(1, 3, 160, 192)
    augment = ProRandConv(repeats=2, engine="eager", padding=padding)
    params = augment.draw(x)
    with Largest() as largest:
        augment(x, draw=params)
    assert largest.numbers == x.numel()


class TestGradients:
    """Where a derivative is wanted, the reference engine computes, whichever was asked for."""

    NAMES = ("images", "weight", "offsets", "gamma", "beta")

    @staticmethod
    def tensors(dtype=torch.float64):
        # offsets off the whole numbers, where the formula has kinks
        shapes = [(1, 2, 5, 4), (2, 2, 3, 3), (18, 5, 4), (2,), (2,)]
        images, weight, offsets, *affine = (torch.randn(s, dtype=dtype) for s in shapes)
        return [images, weight, 0.1 * offsets.tanh() + 0.4, *affine]

    @staticmethod
    def apply(engine, images, weight, offsets, gamma, beta):
        block, contrast = Block(weight, offsets, (5, 4), "zeros"), Contrast(True, gamma, beta)
        return ops.apply(images, block, contrast, 2, engine)

    @pytest.mark.parametrize("wanted", range(5), ids=NAMES)
    def test_are_those_of_the_formula(self, wanted):
        tensors = self.tensors()
        tensors[wanted].requires_grad_()
        convolve = functools.partial(self.apply, "reference")
        assert torch.autograd.gradcheck(convolve, tensors, fast_mode=True)

    @pytest.mark.parametrize("engine", ["eager", "auto", NATIVE])
    @pytest.mark.parametrize("wanted", range(5), ids=NAMES)
    def test_are_given_by_the_reference_in_single_precision(self, engine, wanted):
        tensors = self.tensors(torch.float32)
        tensors[wanted].requires_grad_()
        results = [
            torch.autograd.grad(self.apply(name, *tensors).sum(), tensors[wanted])[0]
            for name in (engine, "reference")
        ]
        assert torch.equal(*results)

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("wanted", range(5), ids=NAMES)
    def test_forward_differentiation_is_not_dropped(self, engine, wanted):
        tensors = self.tensors(torch.float32)
        direction = torch.ones_like(tensors[wanted])
        with forward_ad.dual_level():
            tensors[wanted] = forward_ad.make_dual(tensors[wanted], direction)
            tangent = forward_ad.unpack_dual(self.apply(engine, *tensors)).tangent
        assert tangent.abs().max() > 1e-3

    @pytest.mark.parametrize("name", ["weight", "offsets", "gamma", "beta"])
    def test_reach_what_was_drawn(self, name):
        x = torch.randn(2, 3, 8, 8)
        params = ProRandConv(repeats=2).draw(x)
        learnt = getattr(params, name).clone().requires_grad_()
        functional.apply(x, replace(params, **{name: learnt})).sum().backward()
        assert learnt.grad.abs().max() > 0

    @pytest.mark.parametrize("engine", ["eager", NATIVE])
    def test_without_gradients_the_chosen_engine_serves(self, engine):
        tensors = self.tensors(torch.float32)
        expected = self.apply(engine, *tensors)
        with torch.no_grad():
            actual = self.apply(engine, *(t.requires_grad_() for t in tensors))
        assert torch.equal(actual, expected)


@pytest.mark.parametrize("count", [1, 4, 8])
def test_eager_engine_needs_no_value_on_the_host(count):
    """Meta tensors hold no values: reading one, or a shape that depends on one, would raise."""
    for reach in (0.5, None):
        block = Block(
            torch.empty(3, 3, 3, 3, device="meta"),
            torch.empty(18, 16, 16, device="meta"),
            (16, 16),
            "zeros",
            reach,
        )
        contrast = Contrast(True, torch.empty(3, device="meta"), torch.empty(3, device="meta"))
        images = torch.empty(count, 3, 16, 16, device="meta")
        result = ops.apply(images, block, contrast, 2, "eager")
        assert result.shape == (count, 3, 16, 16)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_size_first_seen_as_fake_tensors_works_afterwards(engine):
    def convolve():
        x, weight = torch.ones(2, 3, 11, 6), torch.ones(3, 3, 3, 3)
        return functional.deform_conv(x, weight, torch.zeros(18, 11, 6), engine=engine)

    with FakeTensorMode():
        assert convolve().shape == (2, 3, 11, 6)
    assert convolve()[0, 0, 1, 1] == 27


class TestServing:
    """Which engine computes."""

    @staticmethod
    def serving(engine, dtype=torch.float32):
        block = Block(torch.zeros(3, 3, 3, 3, dtype=dtype), None, (8, 8), "zeros")
        return ops.serving(torch.zeros(1, 3, 8, 8, dtype=dtype), block, Contrast(), engine)

    @pytest.mark.parametrize("engine", ENGINES)
    def test_the_chosen_engine_serves(self, engine):
        assert self.serving(engine) == engine

    def test_auto_takes_native_for_single_precision_and_eager_otherwise(self):
        has_native = ops.engines()["native"].startswith("available")
        assert self.serving("auto") == ("native" if has_native else "eager")
        assert self.serving("auto", torch.float64) == "eager"

    def test_without_the_kernel_the_eager_engine_serves_and_the_reason_is_told(self, monkeypatch):
        monkeypatch.setattr(native, "UNAVAILABLE", "the native kernel was not compiled")
        assert ops.engines()["native"] == "the native kernel was not compiled"
        assert self.serving("auto") == "eager"
        message = r"^engine: got 'native', expected .*not compiled"
        with pytest.raises(ProRandConvError, match=message):
            self.serving("native")
