"""Checks of arguments: what is wrong raises an error, whose message says what would be right."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import numpy as np
import PIL.Image
import torch
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms.v2.functional import is_pure_tensor

from .errors import ProRandConvError
from .fields import Field
from .options import Size

Range = tuple[float, float]
Option = TypeVar("Option")

MOST_REPEATS = 10_000
"""More would take hours for a single image, and cannot be interrupted."""


def to_python(value: Any) -> Any:
    """Numbers and arrays of numpy or torch as Python's own; everything else as it is."""
    if isinstance(value, list | tuple):
        return tuple(to_python(part) for part in value)
    return (
        to_python(value.tolist()) if isinstance(value, np.generic | np.ndarray | Tensor) else value
    )


def find_images(leaves: Sequence[Any], dims: int) -> list[int]:
    """Positions of the images among the inputs of a call, which share a draw.

    They are all ``tv_tensors.Image`` and ``Video``, or without those the one plain tensor that can
    be images. Inputs that would be silently ignored raise an error.
    """
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
    marked = (tv_tensors.Image, tv_tensors.Video)
    if found := [n for n, leaf in enumerate(leaves) if isinstance(leaf, marked)]:
        return found
    able = [n for n, leaf in enumerate(leaves) if is_pure_tensor(leaf) and leaf.dim() > dims]
    found = [n for n in able if leaves[n].is_floating_point()] or able[:1]
    if len(found) > 1:
        raise ProRandConvError.about(
            "x",
            f"float tensors {[tuple(leaves[n].shape) for n in found]}",
            "only one that can be an image; mark them as tv_tensors.Image, tv_tensors.Mask and so "
            "on (torchvision.tv_tensors)",
        )
    plain = [tuple(leaf.shape) for leaf in tensors if is_pure_tensor(leaf)]
    if not found and (plain or not tensors):
        got = f"tensors {plain}" if plain else [type(leaf).__name__ for leaf in leaves]
        kind = "volumes of shape (C, D, H, W)" if dims == 3 else "images of shape (C, H, W)"
        raise ProRandConvError.about("x", got, f"a tensor of {kind}, or with axes before them")
    return found


def images(x: Tensor, max_channels: int | None = None, dims: int = 2) -> None:
    """Raise an error for what cannot be augmented; ``dims`` is 2 for images, 3 for volumes."""
    if not x.is_floating_point():
        raise ProRandConvError.about(
            "x",
            x.dtype,
            "floating point images, normalised as the network expects; convert with "
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
            f"last, use x.movedim(-1, -{dims + 1}); {other}; for {channels} channels, pass "
            f"max_channels={channels}",
        )


def shape(name: str, value: Any, pattern: str, **sizes: int) -> dict[str, int]:
    """Check a floating point tensor, or a field, against a pattern such as ``"C C k k"``.

    Axes with one letter have one size, which may be given as a keyword.

    Returns:
        The size of each letter.
    """
    axes, known = pattern.split(), dict(sizes)
    fits = isinstance(value, Tensor | Field) and value.dtype.is_floating_point
    if fits and len(value.shape) == len(axes):
        for axis, size in zip(axes, value.shape, strict=True):
            fits = fits and known.setdefault(axis, size) == size
        if fits:
            return known
    expected = ", ".join(str(sizes.get(axis, axis)) for axis in axes)
    comma = "," if len(axes) == 1 else ""
    raise ProRandConvError.about(
        name, described(value), f"a floating point tensor of shape ({expected}{comma})"
    )


def described(value: object) -> str:
    """A value for a message, without its numbers."""
    if not isinstance(value, Tensor | Field):
        return type(value).__name__
    return f"{value.dtype} of shape {tuple(value.shape)} on {value.device}"


def like(name: str, tensor: Tensor | Field | None, x: Tensor) -> None:
    """Raise an error where precisions or devices would be mixed."""
    if tensor is not None and (tensor.dtype != x.dtype or tensor.device != x.device):
        raise ProRandConvError.about(
            name, f"{tensor.dtype} on {tensor.device}", f"{x.dtype} on {x.device}, as the images"
        )


def kernel_size(argument: str, value: int) -> int:
    """An odd number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ProRandConvError.about(argument, value, "an odd integer >= 1, e.g. 3")
    if value % 2 == 0:
        raise ProRandConvError.about(
            argument, value, f"an odd number, e.g. {value - 1} or {value + 1}"
        )
    return value


def kernel_sizes(argument: str, values: Sequence[int]) -> tuple[int, ...]:
    """Odd numbers, at least one."""
    if not isinstance(values, Sequence) or not values:
        raise ProRandConvError.about(
            argument, values, "a sequence of odd numbers, e.g. (1, 3, 5, 7)"
        )
    return tuple(kernel_size(argument, value) for value in values)


def number(argument: str, value: Any, low: float = 0.0, high: float = math.inf) -> float:
    """A finite number within limits."""
    if not _is_finite(value) or not low <= value <= high:
        limits = f">= {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        raise ProRandConvError.about(argument, value, f"a number {limits}")
    return float(value)


def integer(argument: str, value: Any, low: int | None = 1, high: int | None = None) -> int:
    """An integer within limits."""
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or (low is not None and value < low)
        or (high is not None and value > high)
    ):
        limits = "" if low is None else f" >= {low}" if high is None else f" from {low} to {high}"
        raise ProRandConvError.about(argument, value, f"an integer{limits}")
    return value


def repeats(value: Any) -> int | tuple[int, ...]:
    """A number of repetitions, or one for each image, whatever integers came."""
    several, numbers = value if isinstance(value, tuple) else (value,), []
    for given in several:
        each = given if type(given) is int else to_python(given)
        numbers.append(each)
        if type(each) is not int or not 0 <= each <= MOST_REPEATS:
            raise ProRandConvError.about(
                "repeats",
                value,
                f"an integer from 0 to {MOST_REPEATS}, or a tuple with one for each image",
            )
    return tuple(numbers) if several is value else numbers[0]


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
    """One of the known values; 1 is not True."""
    for one in known:
        if value == one and type(value) is type(one):
            return value
    raise ProRandConvError.about(argument, value, f"one of {tuple(known)}")


def subset(
    argument: str, value: bool | Collection[Option], known: tuple[Option, ...]
) -> tuple[Option, ...]:
    """All known values for True, none for False, or some of them, in the known order."""
    if isinstance(value, bool):
        return known if value else ()
    expected = f"True, False or some of {known}"
    if isinstance(value, str) or not isinstance(value, Collection):
        raise ProRandConvError.about(argument, value, expected)
    if unknown := [part for part in value if part not in known]:
        raise ProRandConvError.about(argument, unknown[0], expected)
    return tuple(part for part in known if part in value)


def normalisation(argument: str, value: Any) -> tuple[float, ...]:
    """Mean or standard deviation of a normalisation: a number, or one for each channel."""
    values = value if isinstance(value, Sequence) else (value,)
    positive = argument == "std"
    if not values or not all(_is_finite(v) and (v > 0 or not positive) for v in values):
        above = " > 0" if positive else ""
        raise ProRandConvError.about(argument, value, f"a number{above}, or one per channel")
    return tuple(map(float, values))


def per_channel(argument: str, values: Sequence[float], channels: int) -> None:
    """Raise an error unless there is one value, or one for each of the images' channels."""
    if len(values) not in (1, channels):
        raise ProRandConvError.about(
            argument, values, f"a number, or one for each of the images' {channels} channels"
        )


def selection(
    selected: Any,
    batch_size: int | None,
    draws: int | None,
    names: tuple[str, str] = ("selected", "batch_size"),
) -> None:
    """Positions of the augmented images must be some of a batch; ``draws`` count its own draws."""
    positions_name, size_name = names
    if batch_size is not None:
        integer(size_name, batch_size, 0, 2**31 - 1)
    if draws is not None and batch_size not in (None, draws):
        raise ProRandConvError.about(size_name, batch_size, f"{draws}, as repeats")
    if selected is None:
        return
    if batch_size is None:
        raise ProRandConvError.about(size_name, None, "the number of images selected from")
    integers = isinstance(selected, Tensor) and selected.dtype == torch.int64
    if not integers or selected.dim() != 1 or selected.device.type != "cpu":
        expected = "positions (n,), torch.int64 on the CPU"
        raise ProRandConvError.about(positions_name, described(selected), expected)
    positions = selected.tolist()
    if len(set(positions)) < len(positions) or not all(0 <= n < batch_size for n in positions):
        expected = f"different positions from 0 to {batch_size - 1}"
        raise ProRandConvError.about(positions_name, positions, expected)


def _is_finite(value: Any) -> bool:
    """Whether a value is a finite number; integers beyond all floats are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 2**1000 if isinstance(value, int) else math.isfinite(value)
