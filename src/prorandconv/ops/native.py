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

from ..caching import cached, is_in_functorch, is_recorded
from ..errors import ProRandConvError
from ..fields import Field, fourier_basis
from ..options import Size

if TYPE_CHECKING:
    from ..draw import Draw

_PADDINGS = {"zeros": 0, "reflect": 1, "replicate": 2}
_PLAIN = (Tensor, type(None))
_MAX_MODES = 16
"""Along each axis: the kernel sums no more (as in csrc/common.h)."""
_DEGREE = 4
"""Of the polynomials that stand for fields along a column (as in csrc/common.h)."""
_POLYNOMIAL_ROWS = (16, 8)
"""How many rows one of them serves at most, where it is exact enough."""
_POLYNOMIAL_ERROR = 1e-5
"""Of the longest wave beside its amplitude: what is less exact cannot serve offsets of a pixel."""
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
        *(pointer, pointer, size, size, integer, pointer),
        *(pointer, pointer, pointer, integer, pointer, pointer),
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
    offsets = draw.offsets
    smooth = isinstance(offsets, Field) and not _has_many_modes(offsets)
    if isinstance(offsets, Field):
        offsets = offsets.coefficients if smooth else offsets.dense()
    tensors = (images, draw.weight, offsets, *affine)
    # Only what records operators needs the dispatcher, which costs as much as a repetition on
    # small images.
    run = native_block if is_recorded() or any(type(t) not in _PLAIN for t in tensors) else _run
    result: Tensor = run(
        *tensors,
        smooth,
        "standardise" in parts,
        "tanh" in parts,
        draw.options.eps,
        [repeats] if isinstance(repeats, int) else list(repeats),
        draw.options.padding,
    )
    return result


def _has_many_modes(field: Field) -> bool:
    return max(field.coefficients.shape[-len(field.size) :]) > _MAX_MODES


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
    if len(kernel) == 3 and isinstance(draw.offsets, Field) and _has_many_modes(draw.offsets):
        return f"native sums up to {_MAX_MODES} modes along each axis of a volume"
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
    gamma: Tensor | None,
    beta: Tensor | None,
    smooth: bool,
    standardise: bool,
    tanh: bool,
    eps: float,
    repeats: Sequence[int],
    padding: str,
) -> Tensor:
    """Call the kernel; ``smooth`` offsets are the coefficients of a field."""
    assert isinstance(LIBRARY, ctypes.CDLL)
    dims = images.dim() - 2
    if dims not in (2, 3) or weight.dim() - dims not in (2, 3):
        shapes = tuple(images.shape), tuple(weight.shape)
        expected = "(N, C, [D,] H, W), ([N,] C, C, [k,] k, k)"
        raise ProRandConvError.about("images, weight", shapes, expected)
    (count, channels, *size), kernel_size = images.shape, weight.shape[-1]
    per_image = weight.dim() == dims + 3
    own = (count,) if per_image else ()
    numbers = count if per_image else 1
    if len(repeats) != numbers or not all(0 <= number < 2**63 for number in repeats):
        raise ProRandConvError.about("repeats", list(repeats), f"{numbers} numbers >= 0")
    modes = _modes(offsets, dims) if smooth else None
    fields = dims * kernel_size**dims
    buffers = (
        _as_buffer("images", images, images.shape),
        _as_buffer("weight", weight, (*own, channels, channels, *(kernel_size,) * dims)),
        _as_buffer("offsets", offsets, (*own, fields, *(modes or size))),
        _as_buffer("gamma", gamma, (*own, channels)),
        _as_buffer("beta", beta, (*own, channels)),
    )
    basis, polynomials = _basis(tuple(size), modes) if modes else ((), ())
    at_images, at_weight, at_offsets, at_gamma, at_beta = map(_address, buffers)
    result = torch.empty_like(images, memory_format=torch.contiguous_format)
    status = LIBRARY.prc_apply(
        *(at_images, result.data_ptr(), count, channels),
        *(dims, (ctypes.c_int64 * dims)(*size)),
        *(at_offsets, (ctypes.c_int64 * dims)(*modes) if modes else None, _addresses(basis)),
        len(polynomials),
        (ctypes.c_int * len(polynomials))(*(rows for rows, _ in polynomials)),
        _addresses([table for _, table in polynomials]),
        *(at_weight, kernel_size, at_gamma, at_beta, eps, standardise, tanh),
        (ctypes.c_int64 * len(repeats))(*repeats),
        *(per_image, _PADDINGS[padding], torch.get_num_threads()),
    )
    if status == 1:
        raise MemoryError(f"the native engine found no memory for images {tuple(images.shape)}")
    if status:
        raise ProRandConvError.about(
            "engine", "native", f"'eager' for images {tuple(images.shape)}: too large for native"
        )
    return result


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _addresses(tensors: Sequence[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))


def _modes(offsets: Tensor | None, dims: int) -> tuple[int, ...]:
    """How many basis functions a field has along each axis."""
    if offsets is None or offsets.dim() < dims or max(offsets.shape[-dims:]) > _MAX_MODES:
        shape = None if offsets is None else tuple(offsets.shape)
        raise ProRandConvError.about(
            "offsets", shape, f"coefficients of at most {_MAX_MODES} modes along each axis"
        )
    return tuple(offsets.shape[-dims:])


_Basis = tuple[tuple[Tensor, ...], tuple[tuple[int, Tensor], ...]]


def _basis(size: Size, modes: tuple[int, ...]) -> _Basis:
    """The basis of a field along each axis, and polynomials in its place along a column."""
    basis = fourier_basis(size, modes, torch.float32, torch.device("cpu"))
    tables = ((rows, _polynomials(size, modes, rows)) for rows in _POLYNOMIAL_ROWS)
    return basis, tuple((rows, table) for rows, table in tables if table.numel())


@cached(maxsize=16)
def _polynomials(size: Size, modes: tuple[int, ...], rows: int) -> Tensor:
    """Polynomials by least squares in place of each basis function along a column.

    Returns:
        For every so many rows the differences of order 0 to ``_DEGREE`` at the first one, and in a
        last row the largest error of each function: ``(blocks * (_DEGREE + 1) + 1, modes)``; empty
        if they are not exact enough.
    """
    length, (*_, basis, _) = (
        size[-2],
        fourier_basis(size, modes, torch.float64, torch.device("cpu")),
    )
    if length < rows:
        return torch.empty(0, device="cpu")
    tables, errors = [], []
    for first in range(0, length, rows):
        begin = min(first, length - rows)  # the last block reaches back

        def powers(row: Tensor, begin: int = begin) -> Tensor:
            return ((row - begin) / rows - 0.5)[:, None] ** torch.arange(_DEGREE + 1, device="cpu")

        fitted = powers(torch.arange(begin, begin + rows, device="cpu").double())
        values = basis[begin : begin + rows]
        coefficients = torch.linalg.lstsq(fitted, values).solution
        errors.append((fitted @ coefficients - values).abs().amax(0))
        differences = (
            powers(torch.arange(first, first + _DEGREE + 1, device="cpu").double()) @ coefficients
        )
        for order in range(_DEGREE):
            differences[order + 1 :] = differences[order + 1 :] - differences[order:-1]
        tables.append(differences)
    error = torch.stack(errors).amax(0)
    if len(error) > 1 and error[1:3].max() > _POLYNOMIAL_ERROR:
        return torch.empty(0, device="cpu")
    return torch.cat((*tables, error[None])).float().contiguous()


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
