"""Whether the parts of a draw fit together; what does not is refused by its name."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor

from .errors import ProRandConvError
from .fields import Field

Repeats = int | tuple[int, ...]
"""How often a block is applied: one number, or one for each image that has a draw of its own."""
NUMBERS = (Tensor, Field)
"""What stands for a tensor in a draw."""


def whole(repeats: Any) -> Repeats:
    """Numbers of repetitions as Python's own, whatever integers came."""
    several = repeats if isinstance(repeats, tuple) else (repeats,)
    try:
        numbers = [operator.index(number) for number in several]
    except TypeError:
        numbers = [-1]
    if min(numbers, default=0) < 0:
        raise ProRandConvError.about(
            "repeats", repeats, "a whole number >= 0, or a tuple with one for each image"
        )
    return tuple(numbers) if several is repeats else numbers[0]


def check_tensor(name: str, value: object, repeats: Repeats, *shape: int | str) -> None:
    """Refuse other shapes than this one, with a leading N if there is one draw per image."""
    if isinstance(repeats, tuple):
        shape = (len(repeats), *shape)
    if (
        not isinstance(value, NUMBERS)
        or not value.dtype.is_floating_point
        or len(value.shape) != len(shape)
        or [n for n, m in zip(shape, value.shape, strict=True) if n != m and type(n) is int]
    ):
        sizes = ", ".join(map(str, shape))
        raise ProRandConvError.about(
            name, _described(value), f"a floating point tensor of shape ({sizes})"
        )


def check_weight(weight: Tensor, repeats: Repeats, *, layered: bool, dims: int) -> None:
    """Refuse what are no kernels, and fewer of them than repetitions if each has its own."""
    layers, sides = ("layers",) if layered else (), ("k",) * dims
    check_tensor("weight", weight, repeats, *layers, "C", "C", *sides)
    out, channels, *kernel = weight.shape[-dims - 2 :]
    if out != channels or len(set(kernel)) > 1 or kernel[0] % 2 == 0:
        raise ProRandConvError.about(
            "weight", tuple(weight.shape), f"kernels (C, C, {', '.join(sides)}), k odd"
        )
    most = max(repeats, default=0) if isinstance(repeats, tuple) else repeats
    if layered and most > (kernels := weight.shape[-dims - 3]):
        raise ProRandConvError.about(
            "repeats", most, f"at most {kernels}, the number of drawn kernels"
        )


def check_choice(chosen: Tensor | None, batch: int | None, repeats: Repeats) -> None:
    """Refuse a choice that is not one among the images of a batch."""
    if isinstance(repeats, tuple) and batch not in (None, len(repeats)):
        raise ProRandConvError.about("batch", batch, f"{len(repeats)}, as repeats")
    if chosen is None:
        return
    if not isinstance(batch, int):
        raise ProRandConvError.about("batch", batch, "the number of images chosen among")
    integers = isinstance(chosen, Tensor) and chosen.dtype == torch.int64
    if not integers or chosen.dim() != 1 or chosen.device.type != "cpu":
        raise ProRandConvError.about(
            "chosen", _described(chosen), "positions (n,), torch.int64 on the CPU"
        )
    positions = set(chosen.tolist())
    if len(positions) < len(chosen) or not positions <= set(range(batch)):
        raise ProRandConvError.about(
            "chosen", chosen.tolist(), f"different positions from 0 to {batch - 1}"
        )


def _described(value: object) -> str:
    """A value for a message, without its numbers."""
    if not isinstance(value, NUMBERS):
        return type(value).__name__
    return f"{value.dtype} of shape {tuple(value.shape)} on {value.device}"
