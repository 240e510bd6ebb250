"""Volumes: equal to a loop over voxels, and to the operator of images where nothing has a depth."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from prorandconv.ops.block import Block, Contrast
from torch.utils._python_dispatch import TorchDispatchMode

from prorandconv import ProRandConv, ProRandConvError, functional, ops
from prorandconv.ops import volumes

ENGINES = ["reference", "eager"]
SIZES = [(4, 5, 6), (5, 5, 5), (1, 4, 3), (3, 1, 2), (1, 1, 1)]
PADDINGS = functional.PADDINGS


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
    taps = list(product(range(kernel_size), repeat=3))
    for voxel in product(*map(range, size)):
        for number, tap in enumerate(taps):
            moved = offsets[3 * number : 3 * number + 3, voxel[0], voxel[1], voxel[2]].tolist()
            exact = [
                p + t - kernel_size // 2 + d for p, t, d in zip(voxel, tap, moved, strict=True)
            ]
            for corner in product((0, 1), repeat=3):
                at = [math.floor(e) + c for e, c in zip(exact, corner, strict=True)]
                share = math.prod(1 - abs(e - a) for e, a in zip(exact, at, strict=True))
                z, y, x_ = (place_of(a, s, padding) for a, s in zip(at, size, strict=True))
                if None not in (z, y, x_):
                    values = weight[:, :, tap[0], tap[1], tap[2]] @ x[:, :, z, y, x_].t()
                    result[:, :, voxel[0], voxel[1], voxel[2]] += share * values.t()
    return result


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(
    ("size", "kernel_size", "scale"),
    [
        *((size, 3, 0.4) for size in SIZES),
        ((4, 3, 5), 3, 2.5),
        ((2, 3, 1), 5, 0.9),
        ((4, 3, 5), 1, 9.0),
    ],
)
def test_a_volume_is_convolved_as_by_a_loop_over_voxels(engine, padding, size, kernel_size, scale):
    x = torch.randn(2, 2, *size, dtype=torch.float64)
    weight = torch.randn(3, 2, *(kernel_size,) * 3, dtype=torch.float64)
    offsets = scale * torch.randn(3 * kernel_size**3, *size, dtype=torch.float64).clamp(-1, 1)
    expected = naive_conv(x, weight, offsets, padding)
    actual = functional.deform_conv(x, weight, offsets, padding, engine)
    torch.testing.assert_close(actual, expected, atol=1e-10, rtol=0)


def without_depth(params):
    """A draw for volumes as one for images: its middle plane of taps, without dz."""
    kernel_size = params.weight.shape[-1]
    middle = kernel_size // 2
    weight = params.weight[..., middle, :, :]
    fields = params.offsets.view(kernel_size, kernel_size**2, 3, *params.size)
    return replace(params, weight=weight, offsets=fields[middle, :, 1:, 0].flatten(0, 1), size=None)


def flat(params):
    """A draw for volumes whose kernel is zero off the middle plane, and that is the same in all."""
    kernel_size = params.weight.shape[-1]
    weight = torch.zeros_like(params.weight)
    weight[..., kernel_size // 2, :, :] = params.weight[..., kernel_size // 2, :, :]
    offsets = params.offsets.dense()[:, :1].expand(params.offsets.shape).clone()
    offsets[0::3] = 0
    return replace(params, weight=weight, offsets=offsets)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("padding", PADDINGS)
def test_a_volume_that_is_constant_along_its_depth_is_augmented_as_an_image(
    engine, kernel_size, padding
):
    image = torch.randn(2, 3, 9, 12, dtype=torch.float64)
    volume = image[:, :, None].expand(-1, -1, 4, -1, -1)
    augment = ProRandConv(kernel_size, repeats=3, padding=padding, spatial_dims=3, engine=engine)
    params = flat(augment.draw(volume))
    expected = ProRandConv(kernel_size, padding=padding, engine="reference")(
        image, draw=without_depth(params)
    )
    actual = augment(volume, draw=params)
    for depth in range(4):
        torch.testing.assert_close(actual[:, :, depth], expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "sample"},
        {"mode": "sample", "p": 0.5},
        {"weights": "different"},
        {"shared_offsets": True},
        {"offsets": None},
        {"offsets": None, "padding": "reflect", "mode": "sample"},
        {"offsets": (3.0, 6.0)},
        {"alpha": 3.0},
        {"padding": "replicate", "kernel_size": 5},
        {"contrast": ("affine", "tanh"), "smoothing": None},
        {"contrast": False},
        {"output": "pixels", "mean": (0.4, 0.5), "std": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [(6, 9, 7), (8, 8, 8)])
def test_the_eager_engine_agrees_with_the_reference_in_double_precision(options, size):
    x = torch.rand(3, 2, *size) * 2 - 1
    augment = ProRandConv(**{"max_repeats": 3, **options}, spatial_dims=3, engine="eager")
    params = augment.draw(x)
    actual = augment(x, draw=params)
    expected = functional.apply(x.double(), params, **params.options, engine="reference")
    torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=0)
    assert torch.equal(augment(x, draw=params), actual), "replays bit for bit"


def test_slabs_of_planes_and_of_rows_are_the_whole_volume(monkeypatch):
    x = torch.randn(2, 1, 5, 12, 10)
    augment = ProRandConv(repeats=2, spatial_dims=3, engine="eager", padding="reflect")
    params = augment.draw(x)
    whole = augment(x, draw=params)
    for voxels in (240, 50, 1):  # two planes, some rows, a single row
        monkeypatch.setattr(volumes, "_SLAB", voxels)
        torch.testing.assert_close(augment(x, draw=params), whole, atol=1e-5, rtol=0)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e9])
def test_infinite_offsets_are_outside_whatever_the_padding(padding, value):
    x, weight = torch.randn(1, 1, 4, 5, 6), torch.randn(1, 1, 1, 1, 1)
    offsets = torch.zeros(3, 4, 5, 6)
    offsets[1, 2] = value
    moved = functional.deform_conv(x, weight, offsets, padding, "eager")
    assert moved[:, :, 2].eq(0).all()
    torch.testing.assert_close(moved[:, :, :2], x[:, :, :2] * weight.view(()))


def test_a_volume_has_the_same_bits_alone_and_in_a_batch():
    x = torch.randn(5, 2, 6, 8, 7)
    params = ProRandConv(repeats=3, spatial_dims=3).draw(x)
    together = functional.apply(x, params, engine="eager")
    alone = [functional.apply(one, params, engine="eager") for one in x]
    assert torch.equal(together, torch.stack(alone))


class Largest(TorchDispatchMode):
    """Notes the most numbers that an operator has returned."""

    numbers = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


@pytest.mark.parametrize("offsets", ["auto", (4.0, 6.0)])
def test_the_eager_engine_makes_nothing_much_larger_than_the_volume(monkeypatch, offsets):
    monkeypatch.setattr(volumes, "_SLAB", 2500)
    x = torch.rand(1, 1, 48, 48, 52)
    augment = ProRandConv(repeats=1, spatial_dims=3, engine="eager", offsets=offsets)
    with Largest() as largest:
        augment(x)
    padded = 56 * 56 * 60
    assert largest.numbers <= padded, "81 fields of the volume would be 9.7 million"


def test_the_eager_engine_needs_no_value_on_the_host():
    weight, offsets = (
        torch.empty(2, 2, 3, 3, 3, device="meta"),
        torch.empty(81, 4, 6, 5, device="meta"),
    )
    images, affine = torch.empty(3, 2, 4, 6, 5, device="meta"), torch.empty(2, 2, device="meta")
    for reach in (None, 1.5, 40.0):
        block = Block(weight, offsets, (4, 6, 5), "reflect", reach)
        assert ops.apply(images, block, Contrast(True, *affine), 2, "eager").shape == images.shape


@pytest.mark.parametrize("engine", ["eager", "reference", "auto"])
def test_gradients_pass(engine):
    shapes = [(1, 2, 2, 3, 2), (2, 2, 1, 1, 1), (3, 2, 3, 2), (2,), (2,)]
    images, weight, offsets, gamma, beta = (
        torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes
    )

    def augmented(images, weight, offsets, gamma, beta):
        block = Block(weight, 0.1 * offsets.tanh() + 0.4, (2, 3, 2), "zeros")
        return ops.apply(images, block, Contrast(True, gamma, beta), 1, engine)

    assert torch.autograd.gradcheck(augmented, (images, weight, offsets, gamma, beta))


def test_without_offsets_it_is_torchs_convolution():
    x, weight = torch.randn(2, 3, 5, 6, 7), torch.randn(3, 3, 3, 3, 3)
    expected = F.conv3d(x, weight, padding=1)
    torch.testing.assert_close(functional.random_conv(x, weight), expected)
    still = torch.zeros(81, 5, 6, 7)
    for engine in ENGINES:
        moved = functional.deform_conv(x, weight, still, engine=engine)
        torch.testing.assert_close(moved, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("engine", ["triton"])
def test_other_engines_refuse_volumes_by_name(engine):
    if ops.unavailable(engine) is not None:
        pytest.skip(ops.unavailable(engine))
    x, weight = torch.randn(1, 1, 3, 3, 3), torch.randn(1, 1, 1, 1, 1)
    with pytest.raises(ProRandConvError, match=rf"^engine: got '{engine}', expected 'eager' or"):
        functional.deform_conv(x, weight, torch.zeros(3, 3, 3, 3), engine=engine)
