"""Every engine computes the same thing: torchvision's operator, and a loop over voxels."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import hypothesis
import pytest
import torch
import torch.nn.functional as F
import torchvision
from cases import Largest, cases
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from prorandconv import Draw, ProRandConv, ProRandConvError, functional, ops
from prorandconv.ops import native, taps, volumes

without_native = pytest.mark.skipif(
    not ops.engines()["native"].startswith("available"), reason=ops.engines()["native"]
)
NATIVE = pytest.param("native", marks=without_native)
ENGINES = ["reference", "eager", NATIVE]
FAST = ["eager", NATIVE]
TOLERANCE = {torch.float32: 2e-4, torch.float64: 1e-9}
PADDINGS = functional.PADDINGS


def applied(x, draw, engine):
    return draw.operate(x, engine)


@pytest.mark.parametrize(
    ("engine", "dtype"),
    [
        ("eager", torch.float64),
        ("eager", torch.float32),
        pytest.param("native", torch.float32, marks=without_native),
    ],
)
def test_every_engine_agrees_with_the_reference(engine, dtype):
    @hypothesis.settings(max_examples=150)
    @hypothesis.given(cases(dtype, fewest=1))
    def check(case):
        x, draw = case
        expected = applied(x.double(), draw.to(dtype=torch.float64), "reference")
        actual = applied(x, draw, engine)
        assert (actual.shape, actual.dtype) == (x.shape, dtype)
        tolerance = TOLERANCE[dtype] * max(1.0, float(expected.abs().max()) if x.numel() else 1.0)
        torch.testing.assert_close(actual.double(), expected, atol=tolerance, rtol=0)
        assert torch.equal(applied(x, draw, engine), actual), "replays bit for bit"

    check()


def torchvision_deform_conv(x, weight, offsets):
    expanded = offsets.expand(len(x), *offsets.shape).contiguous()
    return torchvision.ops.deform_conv2d(x, expanded, weight, padding=weight.shape[-1] // 2)


@hypothesis.given(cases(axes=(2,), own=(False,), fewest=1))
def test_the_reference_is_torchvisions_operator_and_the_formula(case):
    x, draw = case
    draw = replace(draw, options=replace(draw.options, padding="zeros"))
    if draw.offsets is None:
        offsets = x.new_zeros(2 * draw.kernel_size**2, *x.shape[2:])
    else:
        offsets = draw.to().offsets
        offsets = getattr(offsets, "dense", lambda: offsets)().nan_to_num(1e9, 1e9, -1e9)
    expected, parts = x, draw.options.contrast
    for _ in range(draw.repeats):
        expected = torchvision_deform_conv(expected, draw.weight, offsets)
        if "standardise" in parts:
            mean, variance = expected.mean((2, 3), True), expected.var((2, 3), False, keepdim=True)
            expected = (expected - mean) / (variance + draw.options.eps).sqrt()
        if "affine" in parts:
            expected = expected * draw.gamma[:, None, None] + draw.beta[:, None, None]
        expected = expected.tanh() if "tanh" in parts else expected
    actual = applied(x, draw, "reference")
    torch.testing.assert_close(actual, expected, atol=1e-9, rtol=1e-9)


def place_of(position, length, padding):
    """Where the continued axis has its voxel from; None if there is none."""
    if padding == "zeros":
        return position if 0 <= position < length else None
    if padding == "replicate":
        return min(max(position, 0), length - 1)
    while not 0 <= position < length:
        position = 0 if length == 1 else abs(position)
        position = position if position < length else 2 * (length - 1) - position
    return position


def naive_conv(x, weight, offsets, padding):
    """The deformable convolution of volumes, one voxel, tap and corner at a time."""
    size, kernel_size = x.shape[2:], weight.shape[-1]
    result = x.new_zeros(len(x), len(weight), *size)
    for voxel in product(*map(range, size)):
        for number, tap in enumerate(product(range(kernel_size), repeat=3)):
            moved = offsets[3 * number : 3 * number + 3, voxel[0], voxel[1], voxel[2]].tolist()
            exact = [
                p + t - kernel_size // 2 + d for p, t, d in zip(voxel, tap, moved, strict=True)
            ]
            for corner in product((0, 1), repeat=3):
                at = [math.floor(e) + c for e, c in zip(exact, corner, strict=True)]
                near = math.prod(1 - abs(e - a) for e, a in zip(exact, at, strict=True))
                z, y, x_ = (place_of(a, s, padding) for a, s in zip(at, size, strict=True))
                if None not in (z, y, x_):
                    values = weight[:, :, tap[0], tap[1], tap[2]] @ x[:, :, z, y, x_].t()
                    result[:, :, voxel[0], voxel[1], voxel[2]] += near * values.t()
    return result


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(
    ("size", "kernel_size", "scale"),
    [((4, 5, 6), 3, 0.4), ((1, 4, 3), 3, 0.4), ((4, 3, 5), 3, 2.5), ((2, 3, 1), 5, 0.9),
     ((4, 3, 5), 1, 9.0), ((1, 1, 1), 3, 0.4)],
)  # fmt: skip
def test_the_reference_of_volumes_is_a_loop_over_voxels(padding, size, kernel_size, scale):
    x = torch.randn(2, 2, *size, dtype=torch.float64)
    weight = torch.randn(3, 2, *(kernel_size,) * 3, dtype=torch.float64)
    offsets = scale * torch.randn(3 * kernel_size**3, *size, dtype=torch.float64).clamp(-1, 1)
    expected = naive_conv(x, weight, offsets, padding)
    actual = functional.deform_conv(x, weight, offsets, padding, "reference")
    torch.testing.assert_close(actual, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("engine", ["reference", "eager"])
def test_a_volume_that_is_constant_along_its_depth_is_augmented_as_an_image(engine):
    image = torch.randn(2, 3, 9, 12, dtype=torch.float64)
    volume = image[:, :, None].expand(-1, -1, 4, -1, -1)
    draw = ProRandConv(repeats=3, padding="reflect", spatial_dims=3).draw(volume)
    weight, offsets = torch.zeros_like(draw.weight), draw.offsets.dense()
    weight[:, :, 1] = draw.weight[:, :, 1]
    offsets = offsets[:, :1].expand_as(offsets).clone()
    offsets[0::3] = 0
    flat = offsets.view(3, 9, 3, *draw.size)[1, :, 1:, 0].flatten(0, 1)
    of_image = replace(draw, weight=draw.weight[:, :, 1], offsets=flat)
    expected = functional.apply(image, of_image, "reference")
    actual = functional.apply(volume, replace(draw, weight=weight, offsets=offsets), engine)
    for depth in range(4):
        torch.testing.assert_close(actual[:, :, depth], expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
class TestEveryEngine:
    """What holds for each, beside its agreement with the reference."""

    @pytest.mark.parametrize("dims", [2, 3])
    def test_zero_offsets_are_a_plain_convolution(self, engine, dims):
        size, convolve = (5, 6, 7)[-dims:], {2: F.conv2d, 3: F.conv3d}[dims]
        for k in (1, 3):
            x, weight = torch.randn(2, 3, *size), torch.randn(3, 3, *(k,) * dims)
            still = torch.zeros(dims * k**dims, *size)
            expected = convolve(x, weight, padding=k // 2)
            actual = functional.deform_conv(x, weight, still, engine=engine)
            torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(functional.random_conv(x, weight), expected)

    @pytest.mark.parametrize("padding", ["reflect", "replicate"])
    def test_padding_continues_the_image_as_torch_pads(self, engine, padding):
        x, weight = torch.randn(2, 3, 9, 7), torch.randn(3, 3, 5, 5)
        expected = F.conv2d(F.pad(x, (2, 2, 2, 2), mode=padding), weight)
        actual = functional.deform_conv(x, weight, x.new_zeros(50, 9, 7), padding, engine=engine)
        torch.testing.assert_close(actual, expected, atol=3e-5, rtol=0)

    def test_integer_offsets_move_the_image_and_far_ones_leave_nothing(self, engine):
        x, weight = torch.randn(1, 1, 6, 6), torch.ones(1, 1, 1, 1)
        offsets = torch.stack((torch.full((6, 6), 2.0), torch.full((6, 6), -1.0)))
        moved = functional.deform_conv(x, weight, offsets, engine=engine)
        torch.testing.assert_close(moved[0, 0, :4, 1:], x[0, 0, 2:, :5])
        assert moved[0, 0, 4:].eq(0).all()
        assert moved[0, 0, :, 0].eq(0).all()
        assert functional.deform_conv(x, weight, 1e6 + offsets, engine=engine).eq(0).all()

    @pytest.mark.parametrize("padding", PADDINGS)
    @pytest.mark.parametrize("value", [math.inf, math.nan, 1e9])
    def test_infinite_offsets_are_outside_whatever_the_padding(self, engine, padding, value):
        x, weight = torch.randn(6, 1, 4, 5), torch.randn(1, 1, 1, 1)
        offsets = torch.zeros(2, 4, 5)
        offsets[1, 2] = value
        for some in (x, x[:2]):
            moved = functional.deform_conv(some, weight, offsets, padding, engine)
            assert moved[:, :, 2].eq(0).all()
            torch.testing.assert_close(moved[:, :, :2], some[:, :, :2] * weight.view(()))

    def test_shared_offsets_bend_the_convolved_image_as_a_whole(self, engine):
        x, options = torch.randn(2, 3, 24, 32), {"contrast": (), "bound": None, "repeats": 1}
        augment = ProRandConv(shared_offsets=True, offsets=(2.0, 2.0), **options)
        draw = augment.draw(x)
        bent = functional.apply(x, draw, engine)
        identity = torch.eye(3)[:, :, None, None]
        plain = F.conv2d(F.pad(x, (9,) * 4), draw.weight)  # the same beyond the border
        field = F.pad(draw.offsets.dense()[:2], (8,) * 4)
        expected = functional.deform_conv(plain, identity, field, engine="reference")
        torch.testing.assert_close(bent, expected[..., 8:-8, 8:-8], atol=1e-4, rtol=0)

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    @pytest.mark.parametrize(
        "options",
        [{}, {"kernel_size": 5, "offsets": (0.5, 0.5)}, {"weights": "different"}],
        ids=str,
    )
    def test_ten_repetitions_stay_near_double_precision(self, engine, mode, options):
        for seed in range(3):
            generator = torch.Generator().manual_seed(seed)
            x = torch.randn(5, 3, 64, 40, generator=generator).clamp(-1, 1)
            draw = ProRandConv(repeats=10, mode=mode, **options).draw(x, generator)
            expected = functional.apply(x.double(), draw, "reference")
            actual = functional.apply(x, draw, engine)
            torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=0)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_half_precision_is_the_reference_rounded_for_a_share_of_the_images(
        self, engine, mode, dtype
    ):
        x = torch.randn(6, 3, 12, 17).to(dtype)
        draw = ProRandConv(mode=mode, repeats=3, p=0.5).draw(x)
        y = functional.apply(x, draw, engine)
        assert y.dtype == dtype
        expected = functional.apply(x.double(), draw, "reference")
        torch.testing.assert_close(y.double(), expected, atol=8e-3, rtol=8e-3)
        others = [n for n in range(6) if n not in draw.selected]
        assert len(others) == 3
        assert torch.equal(y[others], x[others])

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_autocast_changes_nothing(self, engine, mode):
        for count in (2, 6):
            x = torch.randn(count, 3, 16, 16)
            draw = ProRandConv(mode=mode, repeats=2).draw(x)
            expected = functional.apply(x, draw, engine)
            offsets = 0.3 * torch.randn(18, 16, 16)
            deformed = functional.deform_conv(x, draw.weight[:3].view(-1, 3, 3, 3)[:3], offsets)
            with torch.autocast("cpu"):
                assert torch.equal(functional.apply(x, draw, engine), expected)
                weight = draw.weight[:3].view(-1, 3, 3, 3)[:3]
                assert torch.equal(functional.deform_conv(x, weight, offsets), deformed)

    def test_number_of_threads_does_not_change_a_bit(self, engine):
        x, threads = torch.randn(7, 3, 40, 36), torch.get_num_threads()
        for mode in ("batch", "sample"):
            draw, results = ProRandConv(mode=mode, repeats=3).draw(x), []
            try:
                for number in (1, 2, 3, 7):
                    torch.set_num_threads(number)
                    results.append(functional.apply(x, draw, engine))
            finally:
                torch.set_num_threads(threads)
            for other in results:
                torch.testing.assert_close(
                    other, results[0], atol=0 if engine == "native" else 1e-4, rtol=0
                )

    def test_a_size_first_seen_as_fake_tensors_works_afterwards(self, engine):
        def convolve():
            x, weight = torch.ones(2, 3, 11, 6), torch.ones(3, 3, 3, 3)
            return functional.deform_conv(x, weight, torch.zeros(18, 11, 6), engine=engine)

        with FakeTensorMode():
            assert convolve().shape == (2, 3, 11, 6)
        assert convolve()[0, 0, 1, 1] == 27

    def test_tensors_with_the_negative_bit_are_what_they_are(self, engine):
        x = torch.randn(6, 3, 8, 8)
        draw = ProRandConv(repeats=2).draw(x)
        negative = torch.view_as_complex(torch.stack((x, -x), -1)).conj().imag
        assert negative.is_neg()
        for some in (slice(6), slice(2)):
            expected = functional.apply(x[some], draw, engine)
            assert torch.equal(functional.apply(negative[some], draw, engine), expected)

    def test_vmap_over_the_function_is_the_function(self, engine):
        x = torch.randn(3, 2, 3, 8, 8)
        draw = ProRandConv(repeats=2).draw(x[0])
        if engine == "native":
            with pytest.raises(ProRandConvError, match=r"^engine: got 'native', .*torch.func"):
                torch.vmap(lambda x: functional.apply(x, draw, engine))(x)
            engine = "auto"
        expected = torch.stack([functional.apply(one, draw, engine) for one in x])
        actual = torch.vmap(lambda x: functional.apply(x, draw, engine))(x)
        torch.testing.assert_close(actual, expected, atol=1e-4, rtol=0)

    @pytest.mark.parametrize("record", [torch.jit.trace, lambda f, x: make_fx(f)(*x)])
    def test_what_is_recorded_computes_the_same(self, engine, record):
        x, other = torch.randn(2, 6, 3, 8, 8)
        draw = ProRandConv(repeats=2).draw(x)
        with torch.no_grad():
            recorded = record(lambda x: functional.apply(x, draw, engine), (x,))
            expected = functional.apply(other, draw, engine)
            torch.testing.assert_close(recorded(other), expected, atol=1e-5, rtol=0)

    def test_it_works_from_several_threads_at_once(self, engine):
        images = [torch.randn(6, 3, 20, 18) for _ in range(8)]
        draw = ProRandConv(repeats=2).draw(images[0])
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda x: functional.apply(x, draw, engine), images))
        for x, result in zip(images, results, strict=True):
            torch.testing.assert_close(result, functional.apply(x, draw, engine))


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("scale", [0.1, 2.0])
@pytest.mark.parametrize("size", [(32, 32), (17, 23)], ids=str)
class TestTheBatch:
    """What an image becomes does not depend on the images beside it."""

    FEW = (slice(4, 5), slice(4, 6), slice(3, 7))
    """so few images of a draw that an engine has another way for them"""

    @pytest.fixture
    def apply(self, engine, scale, size):
        x, rough = torch.randn(33, 3, *size), scale * torch.randn(18, *size)
        draw = replace(ProRandConv(repeats=4).draw(x), offsets=rough, batch_size=None)
        return lambda some: functional.apply(x[some], draw, engine)

    def test_an_image_has_the_same_bits_among_many(self, apply):
        together = apply(slice(33))
        for some in (slice(0, 5), slice(7, 15), slice(20, 33)):
            assert torch.equal(apply(some), together[some])

    def test_an_image_has_the_same_bits_alone_and_among_few(self, apply):
        alone = apply(slice(4, 5))[0]
        for some in self.FEW:
            assert torch.equal(apply(some)[4 - some.start], alone)

    def test_few_images_are_only_rounded_differently(self, apply):
        together = apply(slice(33))
        for some in self.FEW:
            torch.testing.assert_close(apply(some), together[some], atol=1e-4, rtol=0)


class TestGradients:
    """Where a derivative is wanted, the reference engine computes, whichever was asked for."""

    NAMES = ("images", "weight", "offsets", "gamma", "beta")

    @staticmethod
    def tensors(dtype=torch.float64, dims=2):
        # offsets off the integers, where the formula has kinks
        size = (2, 3, 2)[-dims:] if dims == 3 else (5, 4)
        k, fields = (1, 3) if dims == 3 else (3, 18)
        shapes = [(1, 2, *size), (2, 2, *(k,) * dims), (fields, *size), (2,), (2,)]
        images, weight, offsets, *affine = (torch.randn(s, dtype=dtype) for s in shapes)
        return [images, weight, 0.1 * offsets.tanh() + 0.4, *affine]

    @staticmethod
    def apply(engine, images, weight, offsets, gamma, beta):
        draw = Draw(weight=weight, offsets=offsets, gamma=gamma, beta=beta, repeats=2)
        return ops.apply(images, draw, engine)

    @pytest.mark.parametrize("dims", [2, 3])
    @pytest.mark.parametrize("wanted", range(5), ids=NAMES)
    def test_are_those_of_the_formula(self, wanted, dims):
        tensors = self.tensors(dims=dims)
        tensors[wanted].requires_grad_()
        convolve = lambda *t: self.apply("reference", *t)  # noqa: E731
        assert torch.autograd.gradcheck(convolve, tensors, fast_mode=True)

    @pytest.mark.parametrize("engine", ["auto", *FAST])
    @pytest.mark.parametrize("wanted", range(5), ids=NAMES)
    def test_are_given_by_the_reference_also_forwards(self, engine, wanted):
        tensors = self.tensors(torch.float32)
        with forward_ad.dual_level():
            duals = list(tensors)
            duals[wanted] = forward_ad.make_dual(duals[wanted], torch.ones_like(duals[wanted]))
            tangent = forward_ad.unpack_dual(self.apply(engine, *duals)).tangent
        assert tangent.abs().max() > 1e-3
        tensors[wanted].requires_grad_()
        results = [
            torch.autograd.grad(self.apply(name, *tensors).sum(), tensors[wanted])[0]
            for name in (engine, "reference")
        ]
        assert torch.equal(*results)
        with torch.no_grad():
            actual = self.apply(engine, *tensors)
        assert torch.equal(actual, self.apply(engine, *(t.detach() for t in tensors)))

    @pytest.mark.parametrize("name", ["weight", "gamma", "beta"])
    def test_reach_what_was_drawn(self, name):
        x = torch.randn(2, 3, 8, 8)
        draw = ProRandConv(repeats=2).draw(x)
        learnt = getattr(draw, name).clone().requires_grad_()
        functional.apply(x, replace(draw, **{name: learnt})).sum().backward()
        assert learnt.grad.abs().max() > 0

    def test_reach_the_coefficients_of_offsets(self):
        x = torch.randn(1, 3, 8, 8)
        draw = ProRandConv(repeats=2).draw(x)
        offsets = draw.offsets.dense().requires_grad_()
        functional.apply(x, replace(draw, offsets=offsets)).sum().backward()
        draw.offsets.coefficients.requires_grad_()
        functional.apply(x, draw).sum().backward()
        found = draw.offsets.coefficients.grad[:, 0, 0]
        torch.testing.assert_close(found, offsets.grad.sum((1, 2)), atol=1e-4, rtol=1e-4)


class TestEager:
    """Stock operators on any device, in little memory."""

    @pytest.mark.parametrize(
        "options",
        [{}, {"offsets": None}, {"mode": "sample"}, {"spatial_dims": 3}, {"shared_offsets": True}],
        ids=str,
    )
    @pytest.mark.parametrize("count", [1, 4, 8])
    def test_needs_no_value_on_the_host(self, count, options):
        """Meta tensors hold no values: reading one, or a shape that depends on one, would raise."""
        size = (4, 6, 5) if "spatial_dims" in options else (16, 16)
        x = torch.empty(count, 3, *size, device="meta")
        augment = ProRandConv(repeats=2, engine="eager", **options)
        draw = augment.draw(x)
        assert augment(x, draw=draw).shape == x.shape
        if draw.offsets is not None:
            dense = replace(draw, offsets=draw.offsets.dense())
            assert augment(x, draw=dense).shape == x.shape

    @pytest.mark.parametrize("padding", PADDINGS)
    def test_makes_nothing_much_larger_than_a_large_image(self, padding):
        x = torch.rand(1, 3, 160, 192)
        augment = ProRandConv(repeats=2, engine="eager", padding=padding)
        draw = augment.draw(x)
        with Largest() as largest:
            augment(x, draw=draw)
        assert largest.numbers <= 1.1 * x.numel()

    @pytest.mark.parametrize("offsets", ["auto", (4.0, 6.0)])
    def test_makes_nothing_much_larger_than_a_volume(self, monkeypatch, offsets):
        monkeypatch.setattr(volumes, "_SLAB", 2500)
        x = torch.rand(1, 1, 48, 48, 52)
        augment = ProRandConv(repeats=1, spatial_dims=3, engine="eager", offsets=offsets)
        with Largest() as largest:
            augment(x)
        padded = 56 * 56 * 60
        assert largest.numbers <= padded, "81 fields of the volume would be 9.7 million"

    def test_bands_and_slabs_are_the_whole_image(self, monkeypatch):
        for dims, x in ((2, torch.randn(2, 1, 12, 10)), (3, torch.randn(2, 1, 5, 12, 10))):
            augment = ProRandConv(
                repeats=2, spatial_dims=dims, engine="eager", padding="reflect", smoothing=None
            )
            draw = augment.draw(x)
            expected = augment(x, draw=draw)
            for numbers in (240, 50, 1):  # two planes, some rows, a single row
                monkeypatch.setattr(volumes, "_SLAB", numbers)
                monkeypatch.setattr(taps, "_SAMPLES_ON_CPU", 20 * numbers)
                torch.testing.assert_close(augment(x, draw=draw), expected, atol=1e-5, rtol=0)

    @pytest.mark.parametrize("engine", ["reference", "eager", "auto"])
    def test_channels_may_change_in_one_convolution(self, engine):
        x, weight = torch.randn(2, 3, 8, 9), torch.randn(5, 3, 3, 3)
        offsets = 0.3 * torch.randn(18, 8, 9)
        expected = torchvision_deform_conv(x, weight, offsets)
        for images in (x, x.repeat(3, 1, 1, 1)):
            actual = functional.deform_conv(images, weight, offsets, engine=engine)
            torch.testing.assert_close(actual[:2], expected, atol=1e-5, rtol=1e-5)


class TestSelection:
    """Which engine computes."""

    @staticmethod
    def selected(engine, x=None, **options):
        x = torch.zeros(1, 3, 8, 8) if x is None else x
        return ops.select_engine(x, ProRandConv(**options).draw(x), engine)

    @pytest.mark.parametrize("engine", ENGINES)
    def test_the_chosen_engine_computes(self, engine):
        assert self.selected(engine) == engine

    def test_auto_takes_native_for_single_precision_and_eager_otherwise(self):
        has_native = ops.engines()["native"].startswith("available")
        fastest = "native" if has_native else "eager"
        assert self.selected("auto") == fastest
        assert self.selected("auto", torch.zeros(1, 3, 8, 8).double()) == "eager"
        volume = torch.zeros(1, 1, 3, 3, 3)
        assert self.selected("auto", volume, spatial_dims=3) == (
            "native" if has_native else "eager"
        )

    @without_native
    @pytest.mark.parametrize(
        ("shape", "kernel_size"),
        [((1, 1, 4, 4), 129), ((1, 1025, 2, 2), 1), ((1, 1, 1, 2**20 + 1), 1)],
    )
    def test_auto_takes_eager_where_native_has_limits(self, shape, kernel_size):
        x = torch.rand(shape)
        augment = ProRandConv(
            kernel_size, repeats=1, offsets=None, max_channels=2000, smoothing=(0.1, 0.1)
        )
        assert augment(x).shape == shape
        with pytest.raises(ProRandConvError, match=r"^engine: got 'native', .*native takes up to"):
            functional.apply(x, augment.draw(x), "native")

    @pytest.mark.parametrize("engine", ["triton"])
    def test_other_engines_name_what_they_cannot_do(self, engine):
        x = torch.zeros(1, 1, 3, 3, 3)
        with pytest.raises(
            ProRandConvError, match=rf"^engine: got '{engine}', expected 'eager' or"
        ):
            self.selected(engine, x, spatial_dims=3)

    def test_without_the_kernel_eager_computes_and_the_reason_is_named(self, monkeypatch):
        monkeypatch.setattr(native, "UNAVAILABLE", "the native kernel was not compiled")
        assert ops.engines()["native"] == "the native kernel was not compiled"
        assert self.selected("auto") == "eager"
        message = r"^engine: got 'native', expected .*not compiled"
        with pytest.raises(ProRandConvError, match=message):
            self.selected("native")
        with pytest.raises(ProRandConvError, match=message):
            ProRandConv(engine="native")
