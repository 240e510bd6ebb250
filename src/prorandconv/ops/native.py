"""The fused CPU kernel: everything of one draw in one pass over memory per repetition.

The kernel is plain C++ (``csrc/``) without torch's headers, compiled when the package is installed
if there is a compiler, and called through a C interface on raw pointers.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..caching import is_in_functorch, is_recorded
from ..errors import ProRandConvError
from ..fields import Field

if TYPE_CHECKING:
    from ..draw import Draw

_PADDINGS = {"zeros": 0, "reflect": 1, "replicate": 2}
_PLAIN = (Tensor, type(None))
_FACTORS = ("offsets", "by_row", "by_column", "sigma")
_MAX_WAVES = 16
"""Along each axis: the kernel makes no offsets of more (as in csrc/common.h)."""
_MAX_CHANNELS, _MAX_KERNEL, _MAX_SIDE = 1024, 127, 1 << 20
"""What the kernel counts in the integers that it has (as in csrc/common.h)."""


def _share_openmp() -> None:
    """Make the OpenMP runtime that torch has loaded visible to the kernel.

    A second runtime would mean a second pool of threads, and its workers would fight for the cores
    with torch's, which go on spinning after each operation.
    """
    if sys.platform != "linux" or hasattr(ctypes.CDLL(None), "GOMP_parallel"):
        return
    here = Path(torch.__file__).parent
    bundled = [*here.glob("lib/libgomp*.so*"), *here.parent.glob("torch.libs/libgomp*.so*")]
    for path in (*bundled, "libgomp.so.1"):
        try:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return


def _load() -> ctypes.CDLL | str:
    """The compiled kernel, or why it is not there."""
    path = Path(__file__).with_name("_native.dll" if sys.platform == "win32" else "_native.so")
    if not path.exists():
        return "the native kernel was not compiled; reinstall prorandconv where there is a compiler"
    _share_openmp()
    try:
        library = ctypes.CDLL(str(path))
        library.prc_isa.restype = ctypes.c_char_p
    except (OSError, AttributeError) as problem:
        return f"the native kernel could not be loaded: {problem}"
    pointer, integer, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    library.prc_apply.restype = integer
    library.prc_apply.argtypes = [
        *(pointer, pointer, size, size, size, size),
        *(pointer, pointer, pointer, pointer, size, size),
        *(pointer, size, pointer, pointer),
        *(ctypes.c_float, integer, integer, pointer, integer, integer, integer),
    ]
    return library


LIBRARY = _load()
"""The kernel, or why it is not there."""
UNAVAILABLE: str | None = LIBRARY if isinstance(LIBRARY, str) else None
"""Why the kernel is not there, or None if it is."""
INSTRUCTION_SET: str | None = None if isinstance(LIBRARY, str) else LIBRARY.prc_isa().decode()
"""The vector instructions in use, or None if the kernel is not there."""


def apply(images: Tensor, draw: Draw) -> Tensor:
    """Convolve, standardise, scale and squash as often as the draw says, in one call."""
    parts, repeats = draw.options.contrast, draw.repeats
    affine = (draw.gamma, draw.beta) if "affine" in parts else (None, None)
    tensors = (images, draw.weight, *_displacement(draw), *affine)
    # Only what records operators needs the dispatcher, which costs as much as a repetition on
    # small images.
    run = native_block if is_recorded() or any(type(t) not in _PLAIN for t in tensors) else _run
    result: Tensor = run(
        *tensors,
        "standardise" in parts,
        "tanh" in parts,
        draw.options.eps,
        [repeats] if isinstance(repeats, int) else list(repeats),
        draw.options.padding,
    )
    return result


_Displacement = tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]


def _displacement(draw: Draw) -> _Displacement:
    """The offsets, or coefficients, waves along rows and columns, and sigma of what makes them."""
    offsets = draw.offsets
    if not isinstance(offsets, Field):
        return offsets, None, None, None
    if max(offsets.coefficients.shape[-2:]) > _MAX_WAVES:
        return offsets.dense(), None, None, None
    by_row, by_column = offsets.basis(offsets.dtype)
    unit = torch.ones(offsets.coefficients.shape[:-3], device=offsets.device)
    return offsets.coefficients, by_row, by_column.t(), unit


def status() -> str:
    """Whether this engine can be used here, and if not, why."""
    return UNAVAILABLE or f"available ({INSTRUCTION_SET})"


def unsupported_reason(images: Tensor, draw: Draw) -> str | None:
    """Why the kernel cannot apply a draw; None if it can."""
    if UNAVAILABLE is not None:
        return UNAVAILABLE
    for tensor in (images, draw.weight):
        if tensor.device.type != "cpu" or tensor.dtype != torch.float32:
            return f"native is float32 on CPUs, not {tensor.dtype} on {tensor.device}"
    if is_in_functorch():
        return "native cannot be transformed by torch.func, such as by vmap"
    out, channels, *kernel = draw.weight.shape[-draw.spatial_dims - 2 :]
    if len(kernel) == 3:
        return "native is for images, not for volumes"
    if out != channels:
        return f"native keeps the channels, of which kernels {tuple(draw.weight.shape)} make others"
    if channels > _MAX_CHANNELS or kernel[0] > _MAX_KERNEL or max(images.shape[2:]) > _MAX_SIDE:
        return (
            f"native takes up to {_MAX_CHANNELS} channels, kernels of {_MAX_KERNEL} and sides of "
            f"{_MAX_SIDE} pixels, not images {tuple(images.shape)} and kernels of {kernel[0]}"
        )
    return None


def _run(
    images: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    by_row: Tensor | None,
    by_column: Tensor | None,
    sigma: Tensor | None,
    gamma: Tensor | None,
    beta: Tensor | None,
    standardise: bool,
    tanh: bool,
    eps: float,
    repeats: Sequence[int],
    padding: str,
) -> Tensor:
    assert isinstance(LIBRARY, ctypes.CDLL)
    if images.dim() != 4 or weight.dim() not in (4, 5):
        shapes = tuple(images.shape), tuple(weight.shape)
        raise ProRandConvError.about("images, weight", shapes, "(N, C, H, W), ([N,] C, C, k, k)")
    count, channels, height, width = images.shape
    kernel_size, per_image = weight.shape[-1], weight.dim() == 5
    own = (count,) if per_image else ()
    waves = _wave_counts(offsets, by_row, by_column, sigma)
    numbers = count if per_image else 1
    if len(repeats) != numbers or not all(0 <= number < 2**63 for number in repeats):
        raise ProRandConvError.about("repeats", list(repeats), f"{numbers} numbers >= 0")
    tensors = (
        _as_buffer("images", images, images.shape),
        _as_buffer("weight", weight, (*own, channels, channels, kernel_size, kernel_size)),
        _as_buffer("offsets", offsets, (*own, 2 * kernel_size**2, *(waves or (height, width)))),
        _as_buffer("by_row", by_row, (height, waves[0])) if waves else None,
        _as_buffer("by_column", by_column, (waves[1], width)) if waves else None,
        _as_buffer("sigma", sigma, own) if waves else None,
        _as_buffer("gamma", gamma, (*own, channels)),
        _as_buffer("beta", beta, (*own, channels)),
    )
    at_images, at_weight, *at_offsets, at_gamma, at_beta = (
        None if tensor is None else tensor.data_ptr() for tensor in tensors
    )
    result = torch.empty_like(images, memory_format=torch.contiguous_format)
    status = LIBRARY.prc_apply(
        at_images,
        result.data_ptr(),
        *images.shape,
        *at_offsets,
        *(waves or (0, 0)),
        at_weight,
        kernel_size,
        at_gamma,
        at_beta,
        eps,
        standardise,
        tanh,
        (ctypes.c_int64 * len(repeats))(*repeats),
        per_image,
        _PADDINGS[padding],
        torch.get_num_threads(),
    )
    if status == 1:
        raise MemoryError(f"the native engine found no memory for images {tuple(images.shape)}")
    if status:
        raise ProRandConvError.about(
            "engine", "native", f"'eager' for images {tuple(images.shape)}: too large for native"
        )
    return result


def _wave_counts(offsets: Tensor | None, *factors: Tensor | None) -> tuple[int, int] | None:
    """Numbers of waves along a column and a row, or None if the offsets are given as they are."""
    if all(factor is None for factor in factors):  # == would raise and catch an error in torch
        return None
    if offsets is None or offsets.dim() < 2 or any(factor is None for factor in factors):
        absent = [n for n, t in zip(_FACTORS, (offsets, *factors), strict=True) if t is None]
        raise ProRandConvError.about(", ".join(absent) or "offsets", None, f"all of {_FACTORS}")
    rows, columns = offsets.shape[-2:]
    if max(rows, columns) > _MAX_WAVES:
        raise ProRandConvError.about(
            "offsets", tuple(offsets.shape), f"at most {_MAX_WAVES} waves along each axis"
        )
    return rows, columns


def _as_buffer(name: str, tensor: Tensor | None, shape: Sequence[int]) -> Tensor | None:
    """A tensor whose address can be handed to the kernel, which trusts that all of this is so."""
    if tensor is None:
        return None
    dtype = torch.float32
    if tensor.dtype != dtype or not tensor.is_cpu or tensor.layout != torch.strided:
        given = f"{tensor.dtype}, {tensor.layout} on {tensor.device}"
        raise ProRandConvError.about(name, given, f"{dtype}, torch.strided on cpu for native")
    if tuple(tensor.shape) != tuple(shape):
        raise ProRandConvError.about(name, tuple(tensor.shape), f"the shape {tuple(shape)}")
    tensor = tensor.resolve_neg().contiguous()
    size = tensor.element_size()
    held = tensor.untyped_storage().nbytes() // size - tensor.storage_offset()
    if held < tensor.numel():
        raise ProRandConvError.about(name, f"{held} elements", f"the {tensor.numel()} of its shape")
    # Memory of another library may begin anywhere.
    return tensor if tensor.data_ptr() % size == 0 else tensor.clone()


native_block = torch.library.custom_op("prorandconv::native_block", _run, mutates_args=())


@native_block.register_fake
def _(images: Tensor, *_: object) -> Tensor:
    return torch.empty_like(images, memory_format=torch.contiguous_format)
