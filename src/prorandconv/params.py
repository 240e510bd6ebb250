"""What one draw consists of. Everything random is in it: applying a draw is deterministic."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

Self = TypeVar("Self", bound="BlockParams")


@dataclass(frozen=True, eq=False)
class BlockParams:
    """One draw of a random convolution block, or one draw per image.

    Shapes are those of one draw for the whole batch. With one draw per image, every tensor has a
    further leading dimension of N, and ``repeats`` is a tuple of N numbers.
    """

    weight: Tensor
    """convolution weights, smoothing included: ``(C, C, k, k)``, or ``(L_max, C, C, k, k)`` if they
    differ between repetitions"""
    offsets: Tensor | None
    """deformable offsets in pixels ``(2k², H, W)``, or None"""
    gamma: Tensor | None
    """affine scale ``(C,)``, or None"""
    beta: Tensor | None
    """affine shift ``(C,)``, or None"""
    repeats: int | tuple[int, ...]
    """how often the block is applied; 0 leaves the image as it is"""
    chosen: Tensor | None = None
    """positions of the images that are augmented, on the CPU; None means all"""
    batch: int | None = None
    """number of images the choice was made among"""
    layered: bool = False
    """whether ``weight`` has one kernel per repetition"""
    reach: float | None = None
    """the largest |offset| in pixels, where known: engines choose by it without reading offsets"""

    @property
    def per_image(self) -> bool:
        """Whether each image has a draw of its own."""
        return isinstance(self.repeats, tuple)

    @property
    def identity(self) -> bool:
        """Whether no image is changed."""
        nothing_chosen = self.chosen is not None and self.chosen.numel() == 0
        return nothing_chosen or self.repeats == 0

    def in_layer(self, number: int) -> int | tuple[int, ...]:
        """How often (once or not) the kernel of one repetition is applied, if they differ."""
        if isinstance(self.repeats, int):
            return int(self.repeats > number)
        return tuple(int(repeats > number) for repeats in self.repeats)

    def of_chosen(self: Self) -> Self:
        """The draws of the chosen images only; one draw for the whole batch stays as it is."""
        if self.chosen is None or not isinstance(self.repeats, tuple):
            return self
        own: dict[str, Any] = {
            name: value[self.chosen.to(value.device)] for name, value in self._tensors().items()
        }
        own.update(repeats=tuple(self.repeats[i] for i in self.chosen.tolist()), chosen=None)
        return replace(self, **own)

    def split(self: Self) -> list[Self]:
        """One draw per image, as a list of draws for single images."""
        if not isinstance(self.repeats, tuple):
            return [self]
        everyone = range(len(self.repeats))
        chosen = set(everyone if self.chosen is None else self.chosen.tolist())
        draws = []
        for n, repeats in enumerate(self.repeats):
            own: dict[str, Any] = {name: value[n] for name, value in self._tensors().items()}
            own.update(repeats=repeats if n in chosen else 0, chosen=None, batch=None)
            draws.append(replace(self, **own))
        return draws

    def to(self: Self, device: torch.device | str) -> Self:
        """The same draw on another device."""
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=True) for name, value in self._tensors().items()
        }
        return replace(self, **moved)

    def _tensors(self) -> dict[str, Tensor]:
        """What has a further dimension with one draw per image."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        del values["chosen"]
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}


@dataclass(frozen=True, eq=False)
class ProRandConvParams(BlockParams):
    """One draw of :class:`ProRandConv`, as plain tensors; see :class:`BlockParams` for shapes."""


@dataclass(frozen=True, eq=False)
class RandConvParams(BlockParams):
    """One draw of :class:`RandConv`, as plain tensors; see :class:`BlockParams` for shapes."""

    mix: Tensor | None = None
    """share ``()`` of the original image in the result, or None"""
