"""Displacements that are repeated, and labels that move by them, in the compiled kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import ProRandConvError
from . import library
from .block import differentiable
from .library import LIBRARY, ready

_MAX_PIXELS = 2**31 - 1
"""Of an image: the kernel counts them in 32 bits."""
_MAX_SIDE = 2**20
"""As in csrc/common.h."""


def serves(field: Tensor, *others: Tensor) -> bool:
    """Whether the kernel can serve: a displacement ``(N, 2, H, W)`` in float32, all on the CPU.

    What traces or differentiates needs torch's operators.
    """
    if library.UNAVAILABLE is not None or torch.compiler.is_compiling():
        return False
    height, width = field.shape[-2:]
    small = 0 < height * width <= _MAX_PIXELS and max(height, width) <= _MAX_SIDE
    if not small or field.dim() != 4 or field.dtype != torch.float32:
        return False
    tensors = (field, *others)
    if any(type(one) is not Tensor or not one.is_cpu for one in tensors):
        return False
    return not (torch.is_grad_enabled() and any(map(differentiable, tensors)))


def repeated(steps: Tensor, repeats: Sequence[int], *, zeros: bool) -> Tensor:
    """Where steps lead that are repeated: each samples those before it where it leads itself.

    Args:
        steps: ``(N, 2, H, W)``, y and x in pixels.
        repeats: N numbers, one for each.
        zeros: whether pixels that leave the image stay where they left it; else the border goes on
            outside.
    """
    assert isinstance(LIBRARY, ctypes.CDLL)
    count, _, height, width = steps.shape
    if len(repeats) != count or not all(0 <= number < 2**63 for number in repeats):
        raise ProRandConvError.about("repeats", list(repeats), f"{count} numbers >= 0")
    given = ready("steps", steps, (count, 2, height, width))
    out = torch.empty_like(given)
    status = LIBRARY.prc_repeat(
        *(given.data_ptr(), out.data_ptr()),
        *(count, height, width),
        (ctypes.c_int64 * count)(*repeats),
        zeros,
        torch.get_num_threads(),
    )
    if status == 1:
        raise MemoryError(f"there is no memory for displacements {tuple(steps.shape)}")
    assert status == 0, "serves() has let pass what the kernel does not take"
    return out


def moved(labels: Tensor, field: Tensor, fill: int) -> Tensor:
    """Labels, each from the pixel nearest to where a displacement leads.

    Args:
        labels: ``(N, M, H, W)`` of 1, 2, 4 or 8 bytes each.
        field: ``(N, 2, H, W)``, or ``(1, 2, H, W)`` for all of them; y and x in pixels.
        fill: the label of what is outside.
    """
    assert isinstance(LIBRARY, ctypes.CDLL)
    count, (maps, height, width) = len(field), labels.shape[1:]
    maps *= len(labels) // max(count, 1)
    given = ready("labels", labels, labels.shape, labels.dtype)
    there = ready("displacement", field, (count, 2, height, width))
    out, size = torch.empty_like(given), given.element_size()
    status = LIBRARY.prc_move(
        *(tensor.data_ptr() for tensor in (given, out, there)),
        *(count, maps, height, width),
        size,
        fill % 2 ** (8 * size),
        torch.get_num_threads(),
    )
    assert status == 0, "serves() has let pass what the kernel does not take"
    return out
