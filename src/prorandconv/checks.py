"""Checks of arguments: what is wrong raises, and the message says what would be right."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from torch import Tensor

from .errors import ProRandConvError

Range = tuple[float, float]
Option = TypeVar("Option")


def images(x: Tensor) -> None:
    """Refuse what cannot be augmented."""
    if not x.is_floating_point():
        raise ProRandConvError.about(
            "x",
            x.dtype,
            "floating point images, normalised as the network eats them; convert with "
            "torchvision.transforms.v2.ToDtype(torch.float32, scale=True) and Normalize",
        )
    if x.dim() < 3:
        raise ProRandConvError.about(
            "x", tuple(x.shape), "images of shape (C, H, W) or (N, C, H, W)"
        )


def kernel_size(argument: str, value: int) -> None:
    """Refuse kernels without a middle."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ProRandConvError.about(argument, value, "an odd whole number >= 1, e.g. 3")
    if value % 2 == 0:
        raise ProRandConvError.about(
            argument, value, f"an odd number, e.g. {value - 1} or {value + 1}"
        )


def number(argument: str, value: float, *, low: float, high: float = math.inf) -> float:
    """A finite number within limits."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not low <= value <= high:
        limits = f">= {low}" if high == math.inf else f"from {low} to {high}"
        raise ProRandConvError.about(argument, value, f"a number {limits}")
    return float(value)


def whole_number(argument: str, value: int) -> int:
    """A whole number from 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ProRandConvError.about(argument, value, "a whole number >= 1")
    return value


def interval(argument: str, value: Any, *, above_zero: bool = False) -> Range:
    """(low, high) with 0 <= low <= high."""
    expected = f"(low, high) with 0 {'<' if above_zero else '<='} low <= high, e.g. (0.01, 1.0)"
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ProRandConvError.about(argument, value, expected)
    low, high = value
    if not all(isinstance(end, int | float) and math.isfinite(end) for end in value):
        raise ProRandConvError.about(argument, value, expected)
    if not 0 <= low <= high or (above_zero and low == 0):
        raise ProRandConvError.about(argument, value, expected)
    return float(low), float(high)


def one_of(argument: str, value: Option, known: Sequence[Option]) -> Option:
    """One of the known values."""
    if value not in known:
        raise ProRandConvError.about(argument, value, f"one of {tuple(known)}")
    return value


def choice(
    argument: str, value: bool | Collection[Option], known: tuple[Option, ...]
) -> tuple[Option, ...]:
    """All known values for True, none for False, or some of them, in the known order."""
    if isinstance(value, bool):
        return known if value else ()
    expected = f"True, False or a choice of {known}"
    if isinstance(value, str) or not isinstance(value, Collection):
        raise ProRandConvError.about(argument, value, expected)
    if unknown := [part for part in value if part not in known]:
        raise ProRandConvError.about(argument, unknown[0], expected)
    return tuple(part for part in known if part in value)


def normalisation(
    mean: float | Sequence[float], std: float | Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation, each as one number or one per channel."""
    means = (mean,) if isinstance(mean, int | float) else tuple(mean)
    stds = (std,) if isinstance(std, int | float) else tuple(std)
    if not means or not all(math.isfinite(m) for m in means):
        raise ProRandConvError.about("mean", mean, "a number, or one per channel")
    if not stds or not all(math.isfinite(s) and s > 0 for s in stds):
        raise ProRandConvError.about("std", std, "a number > 0, or one per channel")
    return means, stds
