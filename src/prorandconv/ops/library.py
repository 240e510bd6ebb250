"""The compiled kernel, and what is checked before an address is handed to it.

The kernel is plain C++ (``csrc/``) without torch's headers, compiled when the package is installed
if there is a compiler, and called through a C interface on raw pointers.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from ..errors import ProRandConvError


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
        library.prc_isa.restype = library.prc_isas.restype = ctypes.c_char_p
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


def _tell_of_other_instructions(library: ctypes.CDLL) -> None:
    """Warn if the instruction set that the environment asks for is not the one in use."""
    wanted = os.environ.get("PRORANDCONV_ISA")
    used, known = library.prc_isa().decode(), library.prc_isas().decode().split()
    if wanted and wanted != used:
        warnings.warn(
            f"PRORANDCONV_ISA: got {wanted!r}, expected one of {known} on this machine; "
            f"{used!r} is used",
            RuntimeWarning,
            stacklevel=2,
        )


LIBRARY = _load()
"""The kernel, or why it is not there."""
if isinstance(LIBRARY, ctypes.CDLL):
    _tell_of_other_instructions(LIBRARY)
UNAVAILABLE: str | None = LIBRARY if isinstance(LIBRARY, str) else None
"""Why the kernel is not there, or None if it is."""
INSTRUCTION_SET: str | None = None if isinstance(LIBRARY, str) else LIBRARY.prc_isa().decode()
"""The vector instructions in use, or None if the kernel is not there."""


def ready(
    name: str, tensor: Tensor, shape: Sequence[int], dtype: torch.dtype = torch.float32
) -> Tensor:
    """A tensor whose address can be handed to the kernel, which trusts that all of this is so."""
    if tensor.dtype != dtype or not tensor.is_cpu or tensor.layout != torch.strided:
        given = f"{tensor.dtype}, {tensor.layout} on {tensor.device}"
        raise ProRandConvError.about(name, given, f"{dtype}, torch.strided on cpu for native")
    if tuple(tensor.shape) != tuple(shape):
        raise ProRandConvError.about(name, tuple(tensor.shape), f"the shape {tuple(shape)}")
    tensor = tensor.resolve_neg().contiguous()
    size = tensor.element_size()
    held = tensor.untyped_storage().nbytes() // size - tensor.storage_offset()
    if held < tensor.numel():
        raise ProRandConvError.about(name, f"{held} numbers", f"the {tensor.numel()} of its shape")
    # Memory of another library may begin anywhere.
    return tensor if tensor.data_ptr() % size == 0 else tensor.clone()
