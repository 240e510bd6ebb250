"""What only the compiled engine has to prove: bits, threads, and what its kernel may read."""

import functools
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch._subclasses.fake_tensor import FakeTensorMode

from prorandconv import ProRandConv, ProRandConvError, functional, ops
from prorandconv.fields import draw_field
from prorandconv.ops import native

pytestmark = pytest.mark.skipif(native.UNAVAILABLE is not None, reason=str(native.UNAVAILABLE))
SIZES = [(40, 36), (12, 21, 18)]
LARGE = [(96, 130), (16, 80, 72)]
"""Sizes at which offsets are smooth enough for polynomials."""


@pytest.fixture(params=[*SIZES, *LARGE], ids=str)
def size(request):
    return request.param


@pytest.fixture(params=["field", "tensor"])
def draw(request, size):
    """What applies one draw to images or volumes of a size, so many times."""
    x = torch.rand(3, *size)
    drawn = ProRandConv(spatial_dims=len(size), smoothing=None).draw(x)
    if request.param == "tensor":
        fields = drawn.offsets.shape[0]
        drawn = replace(drawn, offsets=0.4 * torch.randn(fields, *size))
    return lambda x, repeats: functional.apply(x, replace(drawn, repeats=repeats), engine="native")


def test_number_of_threads_does_not_change_a_bit(draw, size):
    x = torch.randn(5 if len(size) == 2 else 2, 3, *size)
    threads = torch.get_num_threads()
    results = []
    try:
        for number in (1, 2, 3, 7):
            torch.set_num_threads(number)
            results.append((draw(x, 3), draw(x[:1], 3)))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))


def test_repetitions_in_one_call_equal_single_calls(draw, size):
    x = torch.randn(5 if len(size) == 2 else 1, 3, *size)
    assert torch.equal(draw(x, 3), draw(draw(draw(x, 1), 1), 1))


def test_images_beside_it_do_not_change_a_bit(draw, size):
    x = torch.randn(3, 3, *size)
    together = draw(x, 3)
    assert torch.equal(together, torch.cat([draw(one[None], 3) for one in x]))


def test_works_from_several_threads_at_once(draw, size):
    images = [torch.randn(2, 3, *size) for _ in range(6)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: draw(x, 2), images))
    for x, result in zip(images, results, strict=True):
        assert torch.equal(result, draw(x, 2))


def test_works_in_a_forked_child_of_a_process_that_used_it(draw, size):
    x = torch.randn(2, 3, *size)
    expected = draw(x, 2)
    context = torch.multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=lambda: answer.put(bool(torch.equal(draw(x, 2), expected))))
    child.start()
    try:
        assert answer.get(timeout=60) is True
    finally:
        child.join(timeout=10)
        child.kill()


class TestFields:
    """Offsets that the kernel makes of coefficients, row by row or as polynomials."""

    @pytest.mark.parametrize(
        ("size", "alpha"),
        [
            *(((side, side), 10.0) for side in (32, 64, 100, 224, 512)),
            ((96, 500), 10.0),
            ((500, 96), 10.0),
            ((17, 224), 10.0),
            ((300, 7), 10.0),
            ((224, 224), 8.0),
            ((40, 96, 130), 10.0),
            ((130, 96, 40), 10.0),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("sigma", [0.05, 0.5, 4.0])
    def test_they_are_within_a_millionth_of_a_pixel(self, size, alpha, sigma):
        dims = len(size)
        fields = draw_field((dims,), size, alpha, torch.tensor(sigma))
        assert max(fields.coefficients.shape[1:]) <= 16, "else the kernel is not what makes them"
        exact = fields.to(dtype=torch.float64).dense()
        weight = torch.ones(1, 1, *(1,) * dims)
        # Pixels are alternately 0 and 1 along one axis: between them, they tell the place.
        for axis, field in enumerate(exact):
            pixel = torch.arange(size[axis])
            shape = [size[axis] if other == axis else 1 for other in range(dims)]
            stripes = (pixel % 2).float().view(shape).expand(1, 1, *size)
            found = functional.deform_conv(stripes, weight, fields, "reflect", engine="native")
            place = (pixel.double().view(shape) + field).remainder(2)
            expected = torch.minimum(place, 2 - place)
            error = (found[0, 0] - expected).abs().max().item()
            assert error <= 1e-6 * max(1, 2 * sigma), "large offsets have fewer bits"

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    @pytest.mark.parametrize("count", [1, 5])
    @pytest.mark.parametrize(
        "size",
        [(32, 32), (19, 50), (50, 19), (8, 8), (1, 7), (96, 100), (9, 1, 12), (12, 80, 70)],
        ids=str,
    )
    def test_they_are_those_of_the_draw(self, mode, count, size):
        x = torch.rand(count, 2, *size) * 2 - 1
        augment = ProRandConv(repeats=4, mode=mode, engine="native", spatial_dims=len(size))
        drawn = augment.draw(x)
        y = augment(x, draw=drawn)
        dense = replace(drawn, offsets=drawn.offsets.dense())
        torch.testing.assert_close(augment(x, draw=dense), y, atol=2e-5, rtol=0)
        assert torch.equal(augment(x, draw=drawn), y)

    def test_many_modes_are_taken_as_planes(self):
        x = torch.rand(1, 3, 32, 32)
        augment = ProRandConv(repeats=2, alpha=6.0, engine="native")
        drawn = augment.draw(x)
        assert drawn.offsets.coefficients.shape[-1] > 16
        expected = functional.apply(x.double(), drawn, engine="reference")
        torch.testing.assert_close(augment(x, draw=drawn).double(), expected, atol=2e-5, rtol=0)

    def test_many_modes_of_volumes_are_left_to_other_engines(self):
        x = torch.rand(1, 1, 20, 20, 20)
        augment = ProRandConv(repeats=1, alpha=5.0, spatial_dims=3)
        drawn = augment.draw(x)
        assert ops.select_engine(x, drawn) == "eager"
        with pytest.raises(ProRandConvError, match="native sums up to 16 modes along each axis"):
            functional.apply(x, drawn, engine="native")


@st.composite
def volumes(draw):
    """Volumes, weights and offsets of any shape, and of any size of offsets."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    count, channels = draw(st.integers(1, 2)), draw(st.integers(1, 5))
    size = [draw(st.integers(1, 12)) for _ in range(2)] + [draw(st.integers(1, 36))]
    kernel_size = draw(st.sampled_from([1, 3, 5]))
    scale = draw(st.sampled_from([0.0, 0.1, 0.4, 3.0, 30.0]))
    x = torch.randn(count, channels, *size, generator=generator)
    weight = torch.randn(channels, channels, *(kernel_size,) * 3, generator=generator)
    offsets = scale * torch.randn(3 * kernel_size**3, *size, generator=generator)
    return x, weight / (kernel_size**1.5 * channels**0.5), offsets


@pytest.mark.parametrize("padding", functional.PADDINGS)
@given(volume=volumes())
def test_volumes_are_those_of_the_reference(padding, volume):
    expected = functional.deform_conv(*(t.double() for t in volume), padding, engine="reference")
    actual = functional.deform_conv(*volume, padding, engine="native")
    torch.testing.assert_close(actual.double(), expected, atol=2e-5, rtol=0)


class TestOperator:
    """The operator, and what its kernel may read."""

    def test_offsets_that_are_learnt_get_their_gradient(self):
        x = torch.randn(1, 3, 8, 8)
        params = ProRandConv(repeats=2).draw(x)
        offsets = params.offsets.dense().requires_grad_()
        functional.apply(x, replace(params, offsets=offsets)).sum().backward()
        params.offsets.coefficients.requires_grad_()
        functional.apply(x, params).sum().backward()
        assert params.offsets.coefficients.grad.abs().max() > 0
        torch.testing.assert_close(
            params.offsets.coefficients.grad[:, 0, 0], offsets.grad.sum((1, 2))
        )

    @pytest.mark.parametrize("coefficient", [math.inf, -math.inf, math.nan, 1e30])
    def test_waves_without_measure_read_nothing_outside(self, coefficient):
        x = torch.randn(1, 3, 9, 9)
        augment = ProRandConv(repeats=1, contrast=(), bound=None, engine="native")
        params = augment.draw(x)
        params.offsets.coefficients[:] = coefficient
        assert augment(x, draw=params).eq(0).all()

    def test_fake_tensors_pass_through(self):
        with FakeTensorMode():
            x, weight = torch.empty(2, 3, 9, 9), torch.empty(3, 3, 3, 3)
            result = functional.deform_conv(x, weight, torch.empty(18, 9, 9), engine="native")
        assert result.shape == (2, 3, 9, 9)

    def test_custom_operator_is_registered_soundly(self):
        images, weight = torch.randn(2, 3, 9, 9), torch.randn(3, 3, 3, 3)
        affine, options = torch.randn(2, 3), (True, True, 1e-5)
        check = functools.partial(torch.library.opcheck, torch.ops.prorandconv.native_block.default)
        for offsets, smooth in ((torch.randn(18, 9, 9), False), (torch.randn(18, 4, 5), True)):
            check((images, weight, offsets, *affine, smooth, *options, [2], "zeros"))
            own = (torch.stack((tensor, 2 * tensor)) for tensor in (weight, offsets, *affine))
            check((images, *own, smooth, *options, [2, 0], "zeros"))

    def call(self, per_image=False, smooth=False, dims=2, **changed):
        """The operator itself, past all checks of the public functions."""
        torch.manual_seed(0)
        own, size = (2,) if per_image else (), (9, 7, 8)[:dims]
        arguments = {
            "images": torch.randn(2, 3, *size),
            "weight": torch.randn(*own, 3, 3, *(3,) * dims),
            "offsets": torch.randn(*own, dims * 3**dims, *((4, 5, 3)[:dims] if smooth else size)),
            "gamma": torch.randn(*own, 3),
            "beta": torch.randn(*own, 3),
            "repeats": [2, 1] if per_image else [2],
        }
        for name, change in changed.items():
            arguments[name] = change(arguments[name])
        repeats = arguments.pop("repeats")
        options = smooth, True, True, 1e-5, repeats, "zeros"
        return native.native_block(*arguments.values(), *options)

    GIVEN = ("images", "weight", "offsets", "gamma", "beta")

    @pytest.mark.parametrize("per_image", [False, True])
    @pytest.mark.parametrize("name", GIVEN)
    @pytest.mark.parametrize(
        "change",
        [torch.Tensor.double, torch.Tensor.half, torch.Tensor.int, torch.Tensor.to_sparse],
        ids=["double", "half", "int", "sparse"],
    )
    def test_takes_no_address_of_other_numbers(self, per_image, name, change):
        with pytest.raises(ProRandConvError, match=f"^{name}: got .*, expected torch.float32"):
            self.call(per_image, smooth=True, **{name: change})

    @pytest.mark.parametrize("per_image", [False, True])
    @pytest.mark.parametrize("dims", [2, 3])
    @pytest.mark.parametrize("name", ["weight", "offsets", "gamma", "beta"])
    def test_takes_no_address_of_fewer_numbers(self, per_image, dims, name):
        for shorter in (lambda t: t[..., :-1], lambda t: t[:-1], lambda t: t.flatten()[:1]):
            with pytest.raises(ProRandConvError, match=r"^[a-z_, ]+: got .*, expected "):
                self.call(per_image, dims=dims, **{name: shorter})

    @pytest.mark.parametrize("per_image", [False, True])
    @pytest.mark.parametrize("dims", [2, 3])
    def test_takes_no_address_of_fewer_coefficients(self, per_image, dims):
        fields = lambda t: t[..., :-1, :, :] if dims == 2 else t[..., :-1, :, :, :]  # noqa: E731
        for shorter in (fields, lambda t: t[:-1]):
            with pytest.raises(ProRandConvError, match=r"^offsets: got .*, expected the shape"):
                self.call(per_image, True, dims, offsets=shorter)

    @pytest.mark.parametrize(
        "offsets", [None, torch.randn(18, 17, 5), torch.randn(4)], ids=["none", "many", "flat"]
    )
    def test_takes_coefficients_of_as_many_modes_only_as_it_has_room_for(self, offsets):
        with pytest.raises(ProRandConvError, match=r"^offsets: got .*, expected .* at most 16"):
            self.call(smooth=True, offsets=lambda _: offsets)

    @pytest.mark.parametrize("name", GIVEN)
    def test_takes_no_address_of_freed_memory(self, name):
        def freed(tensor):
            tensor.untyped_storage().resize_(0)
            return tensor

        with pytest.raises(ProRandConvError, match=f"^{name}: got '0 elements', expected the"):
            self.call(smooth=True, **{name: freed})

    @pytest.mark.parametrize(
        ("per_image", "repeats"), [(False, []), (False, [-1]), (True, [2]), (True, [1, 1, 1])]
    )
    def test_takes_one_number_of_repetitions_for_each_draw(self, per_image, repeats):
        with pytest.raises(ProRandConvError, match=r"^repeats: got .*, expected . numbers >= 0"):
            self.call(per_image, repeats=lambda _: repeats)

    @pytest.mark.parametrize("name", ["images", "weight", "offsets"])
    def test_reads_the_numbers_of_a_view(self, name):
        views = (
            lambda t: t.transpose(-1, -2).contiguous().transpose(-1, -2),
            lambda t: torch.view_as_complex(torch.stack((t, -t), -1)).conj().imag,
        )
        for view in views:
            assert torch.equal(self.call(**{name: view}), self.call())

    @pytest.mark.parametrize(
        ("weight", "fact"),
        [
            (torch.zeros(3, 3, 3, 3, dtype=torch.float64), "float64"),
            (torch.zeros(5, 3, 3, 3), "keeps the channels"),
        ],
    )
    def test_refuses_what_it_cannot_do(self, weight, fact):
        x = torch.zeros(1, 3, 8, 8, dtype=weight.dtype)
        offsets = torch.zeros(18, 8, 8, dtype=weight.dtype)
        with pytest.raises(ProRandConvError, match=f"^engine: got 'native', expected .*{fact}"):
            functional.deform_conv(x, weight, offsets, engine="native")


def test_native_engine_is_there_where_there_is_a_compiler():
    if shutil.which("c++") is None:
        pytest.skip("no compiler on this machine")
    assert ops.engines()["native"].startswith("available")


@pytest.mark.parametrize("channels", [2, 4, 6, 9])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_channels_of_many_images_are_those_of_the_reference(channels, threads):
    x = torch.rand(9, channels, 24, 40) * 2 - 1
    drawn = ProRandConv(repeats=3).draw(x)
    expected = functional.apply(x.double(), drawn, engine="reference")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        actual = functional.apply(x, drawn, engine="native")
        half = functional.apply(x[5:], drawn, engine="native")
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(actual.double(), expected, atol=5e-5, rtol=0)
    if channels > 3:
        assert torch.equal(half, actual[5:])
