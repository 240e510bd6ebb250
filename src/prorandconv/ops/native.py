"""The fused CPU kernel: everything of one draw in one pass over memory per repetition.

The kernel is plain C++ (``csrc/``) without torch's headers, compiled when the package is installed
if there is a compiler, and called through a C interface on raw pointers.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from ..errors import ProRandConvError
from .block import Block, Contrast, Repeats

_PADDINGS = {"zeros": 0, "reflect": 1, "replicate": 2}
_PLAIN = (Tensor, type(None))


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
    found = importlib.util.find_spec(f"{__package__}._native")
    if found is None or found.origin is None:
        return "the native kernel was not compiled; reinstall prorandconv where there is a compiler"
    _share_openmp()
    try:
        library = ctypes.CDLL(found.origin)
    except OSError as problem:
        return f"the native kernel could not be loaded: {problem}"
    pointer, integer, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    library.prc_isa.restype = ctypes.c_char_p
    library.prc_apply.restype = integer
    library.prc_apply.argtypes = [
        *(pointer, pointer, size, size, size, size),
        *(pointer, pointer, size, pointer, pointer),
        *(ctypes.c_float, integer, integer, pointer, integer, integer, integer),
    ]
    return library


_LIBRARY = _load()
UNAVAILABLE: str | None = _LIBRARY if isinstance(_LIBRARY, str) else None
"""Why the kernel is not there, or None if it is."""
INSTRUCTION_SET: str | None = None if isinstance(_LIBRARY, str) else _LIBRARY.prc_isa().decode()
"""The vector instructions in use, or None if the kernel is not there."""


def apply(images: Tensor, block: Block, contrast: Contrast, repeats: Repeats) -> Tensor:
    """Convolve, standardise, scale and squash ``repeats`` times, in one call of the kernel."""
    tensors = (images.contiguous(), block.weight, block.offsets, contrast.gamma, contrast.beta)
    # Only tracers need the dispatcher, which costs as much as a repetition on small images.
    traced = torch.compiler.is_compiling() or any(type(t) not in _PLAIN for t in tensors)
    run = native_block if traced else _run
    result: Tensor = run(
        *tensors,
        contrast.standardise,
        contrast.tanh,
        contrast.eps,
        [repeats] if isinstance(repeats, int) else list(repeats),
        block.padding,
    )
    return result


def refuses(images: Tensor, block: Block) -> str | None:
    """Why the kernel cannot serve a draw, in the form of what would be right; None if it can."""
    if UNAVAILABLE is not None:
        return f"'eager' or 'auto': {UNAVAILABLE}"
    for tensor in (images, block.weight, block.offsets):
        if tensor is not None and (tensor.device.type != "cpu" or tensor.dtype != torch.float32):
            given = f"{tensor.dtype} on {tensor.device}"
            return f"'eager' or 'auto' for {given}: native is float32 on CPUs"
    if block.weight.shape[-4] != block.weight.shape[-3]:
        kernels = tuple(block.weight.shape)
        return f"'eager' or 'auto' for kernels {kernels}: native keeps the channels"
    return None


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
    assert isinstance(_LIBRARY, ctypes.CDLL)
    result = torch.empty_like(images)
    inputs = [t if t is None else t.contiguous() for t in (offsets, weight, gamma, beta)]
    pointers = [t if t is None else t.data_ptr() for t in inputs]
    status = _LIBRARY.prc_apply(
        images.data_ptr(),
        result.data_ptr(),
        *images.shape,
        *pointers[:2],
        weight.shape[-1],
        *pointers[2:],
        eps,
        standardise,
        tanh,
        (ctypes.c_int64 * len(repeats))(*repeats),
        weight.dim() == 5,
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


native_block = torch.library.custom_op("prorandconv::native_block", _run, mutates_args=())


@native_block.register_fake
def _(images: Tensor, *_: object) -> Tensor:
    return torch.empty_like(images)
