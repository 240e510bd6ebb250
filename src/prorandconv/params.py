"""What one draw consists of, and how it is drawn.

Everything random is here: applying a draw is deterministic. Random numbers are drawn on the
generator's device, by default the CPU, whatever device the images are on: the same seed gives the
same draw everywhere, and the number of repetitions is known without a synchronisation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from .checks import Range
from .fields import gaussian_random_field
from .functional import gaussian_window

DRAWING_VERSION = 2
"""Raised whenever the same seed gives other draws than before: results tell them apart by it."""

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


@dataclass(frozen=True)
class Draw:
    """Where random numbers come from, and how many draws are made with them.

    ``count`` is None for one draw, or the number of images with one draw each.
    """

    count: int | None
    generator: torch.Generator | None
    dtype: torch.dtype = torch.float32

    @property
    def _prefix(self) -> tuple[int, ...]:
        return () if self.count is None else (self.count,)

    @property
    def _device(self) -> torch.device:
        return self.generator.device if self.generator is not None else torch.device("cpu")

    def uniform(self, low: float, high: float) -> Tensor:
        """One number U(low, high) per draw."""
        number = torch.empty(self._prefix, dtype=self.dtype, device=self._device)
        return number.uniform_(low, high, generator=self.generator)

    def normal(self, *shape: int, std: float = 1.0) -> Tensor:
        """Numbers N(0, std²) of the given shape per draw."""
        numbers = torch.empty(*self._prefix, *shape, dtype=self.dtype, device=self._device)
        return numbers.normal_(0.0, std, generator=self.generator)

    def whole(self, low: int, high: int) -> int | tuple[int, ...]:
        """One whole number from low to high, both included, per draw."""
        numbers = torch.randint(
            low, high + 1, self._prefix, generator=self.generator, device=self._device
        ).tolist()
        return tuple(numbers) if isinstance(numbers, list) else int(numbers)

    def weight(
        self,
        kernel_size: int,
        channels: int,
        *,
        layers: int | None = None,
        std: float | Range | None = None,
        smoothing: Range | None = None,
    ) -> Tensor:
        """Convolution weights N(0, σ_w²) times the Gaussian filter of a random width.

        Args:
            kernel_size: side k of the kernel.
            channels: C, of input and output.
            layers: how many kernels per draw; None for one without a dimension of its own.
            std: σ_w; None is 1 / sqrt(k² C), a range is drawn from uniformly.
            smoothing: range of σ_g; None leaves the weights as they are.
        """
        shape: tuple[int, ...] = (channels, channels, kernel_size, kernel_size)
        if layers is not None:
            shape = (layers, *shape)
        tail = (1,) * len(shape)
        if isinstance(std, tuple):
            weight = self.normal(*shape).mul_(self.uniform(*std).view(*self._prefix, *tail))
        else:
            std = (kernel_size**2 * channels) ** -0.5 if std is None else std
            weight = self.normal(*shape, std=std)
        if smoothing is not None:
            window = gaussian_window(kernel_size, self.uniform(*smoothing))
            weight.mul_(window.view(*self._prefix, *tail[2:], kernel_size, kernel_size))
        return weight

    def offsets(
        self, kernel_size: int, size: tuple[int, int], scale: Range, alpha: float
    ) -> Tensor:
        """2k² independent smooth fields (dy, dx per tap), times one σ_Δ from the range."""
        sigma = self.uniform(*scale)
        taps = 2 * kernel_size**2
        fields = gaussian_random_field(
            taps if self.count is None else taps * self.count,
            size,
            alpha,
            generator=self.generator,
            dtype=self.dtype,
        )
        return fields.view(*self._prefix, taps, *size).mul_(sigma.view(*self._prefix, 1, 1, 1))

    def subset(self, count: int, share: float) -> Tensor:
        """Positions of a share of ``count`` images: as close to it as whole images allow.

        share * count is rounded up or down at random, so that each image has probability ``share``
        also in small batches.
        """
        where: dict[str, Any] = {"generator": self.generator, "device": self._device}
        size = int(share * count + float(torch.rand((), **where)))
        return torch.randperm(count, **where)[:size].sort().values.cpu()
