"""Kernels for GPUs, written in Triton, which compiles them when they are first called.

A program takes a tile of pixels and several images, and works out once for all of them where the
taps fall. Nothing is read back to the host.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .. import checks
from ..errors import ProRandConvError
from ..fields import Field
from ..options import PADDINGS

if TYPE_CHECKING:
    from ..draw import Draw

CHECKED = "checked in Triton's interpreter and compiled for sm_80 and sm_90; never run on hardware"
"""How far this engine is proven."""
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""Whether Triton interprets kernels on the CPU, for tests; it decides when they are imported."""
TILE = {"TILE_HEIGHT": 4, "TILE_WIDTH": 32}
"""Pixels of a program of ``convolve``, one for each of its threads."""
OPTIONS = {"num_warps": 4, "enable_fp_fusion": True}
"""What the kernels are compiled with."""
_INSTALLED = importlib.util.find_spec("triton") is not None
_PROGRAMS = 512
"""So many keep a large GPU busy; beyond that, a program takes several images."""
_MOST_IMAGES = 4
_MOST_CHANNELS = 4
"""Of a program: what is summed up for them has to fit into registers."""
_MERGED = 256
"""Statistics of so many tiles are merged at a time."""


def status() -> str:
    """Whether this engine can be used here, and if not, why."""
    reason = _missing()
    return f"{reason or 'available'}; {CHECKED}"


def _missing() -> str | None:
    if not _INSTALLED:
        return "Triton is not installed"
    if not INTERPRETED and not torch.cuda.is_available():
        return "there is no CUDA device"
    return None


def unsupported_reason(images: Tensor, draw: Draw) -> str | None:
    """Why this engine cannot apply a draw; None if it can."""
    if not _INSTALLED:
        return "Triton is not installed"
    if draw.spatial_dims == 3:
        return "triton is for images, not for volumes"
    device = "cpu" if INTERPRETED else "cuda"
    for tensor in (images, draw.weight):
        if tensor.device.type != device or tensor.dtype != torch.float32:
            return f"triton is float32 on {device}, not {tensor.dtype} on {tensor.device}"
    return None


def apply(images: Tensor, draw: Draw) -> Tensor:
    """Convolve, standardise, scale and squash, by two kernels for each repetition."""
    parts, repeats, offsets = draw.options.contrast, draw.repeats, draw.offsets
    affine = (draw.gamma, draw.beta) if "affine" in parts else (None, None)
    result: Tensor = triton_block(
        images,
        draw.weight,
        offsets.dense() if isinstance(offsets, Field) else offsets,
        *affine,
        "standardise" in parts,
        "tanh" in parts,
        draw.options.eps,
        [repeats] if isinstance(repeats, int) else list(repeats),
        draw.options.padding,
    )
    return result


def _run(
    images: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    gamma: Tensor | None,
    beta: Tensor | None,
    standardise: bool,
    tanh: bool,
    eps: float,
    repeats: Sequence[int],
    padding: str,
) -> Tensor:
    from . import triton_kernels as kernels

    _check(images, weight, padding)
    count, c_in, height, width = images.shape
    c_out, kernel_size, per_image = weight.shape[-4], weight.shape[-1], weight.dim() == 5
    own = (count,) if per_image else ()
    images = _ready("images", images, images, (count, c_in, height, width))
    weight = _ready("weight", weight, images, (*own, c_out, c_in, kernel_size, kernel_size))
    if offsets is not None:
        offsets = _ready("offsets", offsets, images, (*own, 2 * kernel_size**2, height, width))
    if gamma is not None and beta is not None:
        gamma = _ready("gamma", gamma, images, (*own, c_out))
        beta = _ready("beta", beta, images, (*own, c_out))
    _check_repeats(repeats, count if per_image else 1, c_in == c_out)

    tiles_across = -(-width // TILE["TILE_WIDTH"])
    tiles = tiles_across * -(-height // TILE["TILE_HEIGHT"])
    shape = (height, width, tiles_across, tiles)
    channels = min(_MOST_CHANNELS, _power_of_two(c_out))
    per_program = 1 if per_image else images_of_a_program(count, tiles)
    block = min(2048, _power_of_two(height * width))
    order = _falling(repeats, images.device) if per_image else None

    result = images.clone() if 0 in repeats else images.new_empty(count, c_out, height, width)
    convolved = torch.empty_like(result)
    statistics = images.new_empty(count, c_out, 2, tiles) if standardise else None
    source = images
    with torch.cuda.device_of(images):  # type: ignore[no-untyped-call]
        for repeat in range(max(repeats, default=0)):
            active = sum(times > repeat for times in repeats) if per_image else count
            groups = -(-active // per_program)
            kernels.convolve[tiles * groups, -(-c_out // channels)](
                *(source, weight, offsets, order, convolved, statistics, active, *shape),
                C_IN=c_in,
                C_OUT=c_out,
                KERNEL_SIZE=kernel_size,
                PADDING=padding,
                IMAGES=per_program,
                CHANNELS=channels,
                **TILE,
                **OPTIONS,
            )
            kernels.contrast[(active * c_out * -(-height * width // block),)](
                *(convolved, statistics, order, gamma, beta, result, *shape, eps),
                C=c_out,
                TANH=tanh,
                PIXELS=block,
                MERGED=min(_MERGED, _power_of_two(tiles)),
                **TILE,
                **OPTIONS,
            )
            source = result
    return result


def images_of_a_program(count: int, tiles: int) -> int:
    """How many images of a mini-batch share a program, a power of two."""
    wanted = min(_MOST_IMAGES, count, count * tiles // _PROGRAMS)
    return 1 << max(wanted, 1).bit_length() - 1


def _power_of_two(number: int) -> int:
    """The next one from ``number`` on: sizes of Triton's tensors are powers of two."""
    return 1 << (number - 1).bit_length()


def _falling(repeats: Sequence[int], device: torch.device) -> Tensor:
    """Images by falling number of repetitions: each repetition works on the leading ones."""
    order = sorted(range(len(repeats)), key=lambda n: -repeats[n])
    # From pinned memory, the copy does not wait for what the device has yet to do.
    on_host = torch.tensor(order, dtype=torch.int32, pin_memory=device.type == "cuda")
    return on_host.to(device, non_blocking=True)


def _check(images: Tensor, weight: Tensor, padding: str) -> None:
    if images.dim() != 4 or weight.dim() not in (4, 5):
        shapes = tuple(images.shape), tuple(weight.shape)
        raise ProRandConvError.about("images, weight", shapes, "(N, C, H, W), ([N,] C, C, k, k)")
    checks.one_of("padding", padding, PADDINGS)


def _ready(name: str, tensor: Tensor, images: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor whose address can be handed to the kernels, which trust that all of this is so."""
    if tensor.dtype != torch.float32 or tensor.device != images.device:
        given = f"{tensor.dtype} on {tensor.device}"
        raise ProRandConvError.about(name, given, f"torch.float32 on {images.device} for triton")
    if tuple(tensor.shape) != shape:
        raise ProRandConvError.about(name, tuple(tensor.shape), f"the shape {shape}")
    return tensor.contiguous()


def _check_repeats(repeats: Sequence[int], numbers: int, keeps_channels: bool) -> None:
    if len(repeats) != numbers or not all(number >= 0 for number in repeats):
        raise ProRandConvError.about("repeats", list(repeats), f"{numbers} numbers >= 0")
    if not keeps_channels and any(number != 1 for number in repeats):
        raise ProRandConvError.about("repeats", list(repeats), "1 where the channels change")


triton_block = torch.library.custom_op("prorandconv::triton_block", _run, mutates_args=())


@triton_block.register_fake
def _(images: Tensor, weight: Tensor, *_: object) -> Tensor:
    return images.new_empty(images.shape[0], weight.shape[-4], *images.shape[2:])
