"""Checks of arguments: what is wrong raises, and the message says what would be right."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import numpy as np
import PIL.Image
from torch import Tensor
from torchvision import tv_tensors

from .errors import ProRandConvError
from .options import Size

Range = tuple[float, float]
Option = TypeVar("Option")


def plain(value: Any) -> Any:
    """Numbers and arrays of numpy or torch as Python's own; everything else as it is."""
    if isinstance(value, list | tuple):
        return tuple(plain(part) for part in value)
    return plain(value.tolist()) if isinstance(value, np.generic | np.ndarray | Tensor) else value


def sample(leaves: Sequence[Any]) -> None:
    """Refuse inputs that would pass through unseen, or among which the image is not certain."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    for leaf in leaves:
        is_array = isinstance(leaf, np.ndarray) and (leaf.ndim >= 3 or not tensors)
        if is_array or isinstance(leaf, PIL.Image.Image):
            raise ProRandConvError.about(
                "x",
                type(leaf).__name__,
                "a tensor; put v2.ToImage(), v2.ToDtype(torch.float32, scale=True) and "
                "v2.Normalize(...) before this transform",
            )
    if not tensors:
        raise ProRandConvError.about(
            "x", [type(leaf).__name__ for leaf in leaves], "a tensor of images (..., C, H, W)"
        )
    if any(isinstance(leaf, tv_tensors.Image | tv_tensors.Video) for leaf in tensors):
        return
    unmarked = [
        tuple(leaf.shape)
        for leaf in tensors
        if not isinstance(leaf, tv_tensors.TVTensor) and leaf.is_floating_point() and leaf.dim() > 2
    ]
    if len(unmarked) > 1:
        raise ProRandConvError.about(
            "x",
            f"float tensors {unmarked}",
            "only one that can be an image; mark them as tv_tensors.Image, tv_tensors.Mask and so "
            "on (torchvision.tv_tensors)",
        )


def images(x: Tensor, max_channels: int | None = None, dims: int = 2) -> None:
    """Refuse what cannot be augmented: images, or with three ``dims`` volumes, have such axes."""
    if not x.is_floating_point():
        raise ProRandConvError.about(
            "x",
            x.dtype,
            "floating point images, normalised as the network eats them; convert with "
            "torchvision.transforms.v2.ToDtype(torch.float32, scale=True) and Normalize",
        )
    sides = "D, H, W" if dims == 3 else "H, W"
    if x.dim() < dims + 1:
        kind = "volumes" if dims == 3 else "images"
        raise ProRandConvError.about(
            "x", tuple(x.shape), f"{kind} of shape (C, {sides}) or (N, C, {sides})"
        )
    channels = x.shape[-dims - 1]
    if max_channels is not None and channels > max_channels:
        other = "for images, spatial_dims=2" if dims == 3 else "for volumes, spatial_dims=3"
        raise ProRandConvError.about(
            "x",
            tuple(x.shape),
            f"shape (..., C, {sides}) with at most {max_channels} channels. If the channels come "
            f"last, use x.movedim(-1, -{dims + 1}); {other}; for {channels} channels, say "
            f"max_channels={channels}",
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
    if not _is_finite(value) or not low <= value <= high:
        limits = f">= {low}" if high == math.inf else f"from {low} to {high}"
        raise ProRandConvError.about(argument, value, f"a number {limits}")
    return float(value)


def whole_number(argument: str, value: int) -> int:
    """A whole number from 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ProRandConvError.about(argument, value, "a whole number >= 1")
    return value


def size(argument: str, value: Any, dims: int = 2) -> Size:
    """Height and width of at least a pixel, after the depth where there are three ``dims``."""
    sides = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(sides) != dims or not all(type(side) is int and side >= 1 for side in sides):
        expected = "(height, width) in pixels, e.g. (224, 224)"
        if dims == 3:
            expected = "(depth, height, width) in voxels, e.g. (64, 128, 128)"
        raise ProRandConvError.about(argument, value, expected)
    return tuple(sides)


def interval(argument: str, value: Any, *, above_zero: bool = False) -> Range:
    """(low, high) with 0 <= low <= high."""
    expected = f"(low, high) with 0 {'<' if above_zero else '<='} low <= high, e.g. (0.01, 1.0)"
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ProRandConvError.about(argument, value, expected)
    low, high = value
    if not all(_is_finite(end) for end in value):
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
    means = mean if isinstance(mean, Sequence) else (mean,)
    stds = std if isinstance(std, Sequence) else (std,)
    if not means or not all(_is_finite(m) for m in means):
        raise ProRandConvError.about("mean", mean, "a number, or one per channel")
    if not stds or not all(_is_finite(s) and s > 0 for s in stds):
        raise ProRandConvError.about("std", std, "a number > 0, or one per channel")
    if 1 < len(means) != len(stds) > 1:
        raise ProRandConvError.about("std", std, f"a number, or {len(means)} as in mean")
    return tuple(map(float, means)), tuple(map(float, stds))


def per_channel(argument: str, values: Any, channels: int) -> None:
    """Refuse a sequence that has neither one entry nor one for each of the images' channels."""
    if len(values) not in (1, channels):
        raise ProRandConvError.about(
            argument, values, f"a number, or one for each of the images' {channels} channels"
        )


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
