"""What one draw consists of. Everything random is in it: applying a draw is deterministic."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from . import checks, drawfile
from .errors import ProRandConvError
from .fields import Field
from .fitting import NUMBERS, Repeats, check_choice, check_tensor, check_weight, whole
from .options import Size

Self = TypeVar("Self", bound="BlockParams")


@dataclass(frozen=True, eq=False)
class BlockParams:
    """One draw of a random convolution block, or one draw per image.

    Shapes are those of one draw for the whole batch. With one draw per image, every tensor has a
    further leading dimension of N, and ``repeats`` is a tuple of N numbers. A draw for volumes has
    kernels ``(C, C, k, k, k)`` and offsets ``(3k³, D, H, W)``, dz, dy and dx for each tap. Parts
    that do not fit together are refused, so a draw can be edited with ``dataclasses.replace``.
    """

    weight: Tensor
    """convolution weights, smoothing included: ``(C, C, k, k)``, or ``(L_max, C, C, k, k)`` if they
    differ between repetitions"""
    offsets: Tensor | Field | None
    """deformable offsets in pixels ``(2k², H, W)``: as drawn a :class:`Field`, whose ``dense()`` is
    the tensor; or a tensor, or None"""
    gamma: Tensor | None
    """affine scale ``(C,)``, or None"""
    beta: Tensor | None
    """affine shift ``(C,)``, or None"""
    repeats: Repeats
    """how often the block is applied; 0 leaves the image as it is"""
    chosen: Tensor | None = None
    """positions of the images that are augmented, on the CPU; None means all"""
    batch: int | None = None
    """number of images the choice was made among"""
    layered: bool = False
    """whether ``weight`` has one kernel per repetition"""
    size: Size | None = field(default=None, kw_only=True)
    """height and width, of volumes after the depth, that the draw is for: those of the offsets, or
    where there are none, of the images it was made with"""
    options: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """options of the transform that made the draw, as keyword arguments of the function that
    applies it, ``functional.pro_rand_conv`` or ``rand_conv``; None if they are not known"""

    def __post_init__(self) -> None:
        if self.offsets is not None:
            shape = tuple(getattr(self.offsets, "shape", ()))
            object.__setattr__(self, "size", shape[-self.spatial_dims :])
        object.__setattr__(self, "repeats", whole(self.repeats))
        dims = self.spatial_dims
        check_weight(self.weight, self.repeats, layered=self.layered, dims=dims)
        taps, sides = self.weight.shape[-1] ** dims, ("D", "H", "W")[-dims:]
        self._check_optional("offsets", dims * taps, *sides)
        self._check_optional("gamma", self.channels)
        self._check_optional("beta", self.channels)
        if (self.gamma is None) != (self.beta is None):
            absent, present = ("gamma", "beta") if self.gamma is None else ("beta", "gamma")
            raise ProRandConvError.about(absent, None, f"a tensor, as {present} is one, or neither")
        check_choice(self.chosen, self.batch, self.repeats)

    def _check_optional(self, name: str, *shape: int | str) -> None:
        if vars(self)[name] is not None:
            check_tensor(name, vars(self)[name], self.repeats, *shape)

    @property
    def spatial_dims(self) -> int:
        """2 for images, 3 for volumes."""
        if self.size is not None:
            return 3 if len(self.size) == 3 else 2
        leading = 2 + self.layered + isinstance(self.repeats, tuple)
        return 3 if len(getattr(self.weight, "shape", ())) == leading + 3 else 2

    @property
    def channels(self) -> int:
        """Of the images that the draw is for."""
        return self.weight.shape[-self.spatial_dims - 1]

    @property
    def per_image(self) -> bool:
        """Whether each image has a draw of its own."""
        return isinstance(self.repeats, tuple)

    @property
    def identity(self) -> bool:
        """Whether no image is changed."""
        nothing_chosen = self.chosen is not None and self.chosen.numel() == 0
        return nothing_chosen or self.repeats == 0

    @property
    def reach(self) -> float | None:
        """The largest |offset| in pixels, or a bound; None where reading it would wait."""
        if self.offsets is None or 0 in self.offsets.shape:
            return 0.0
        if isinstance(self.offsets, Field):
            return self.offsets.bound()
        if self.offsets.device.type == "cpu":
            return float(self.offsets.abs().max())
        return None

    def in_layer(self, number: int) -> Repeats:
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
        repeats = tuple(self.repeats[i] for i in self.chosen.tolist())
        return replace(self, **own, repeats=repeats, chosen=None, batch=None)

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
        here, device = self._tensors(), torch.device(device)
        if all(value.device == device for value in here.values()):
            return self
        there: dict[str, Any] = {
            # A copy to the host that does not block could be read before it is complete.
            name: value.to(device)
            if isinstance(value, Field)
            else value.to(device, non_blocking=value.device.type == "cpu")
            for name, value in here.items()
        }
        return replace(self, **there)

    def resized(self: Self, size: Size) -> Self:
        """The same style for images of another size.

        Beside the longer side of the image, the offsets stay as large and their waves as long.

        Args:
            size: height and width in pixels; for volumes, after the depth.

        Example:
            >>> from prorandconv import ProRandConv
            >>> augment = ProRandConv()
            >>> params = augment.draw(torch.rand(3, 96, 128))
            >>> augment(torch.rand(3, 24, 32), params=params.resized((24, 32))).shape
            torch.Size([3, 24, 32])
        """
        size = checks.size("size", size, self.spatial_dims)
        if self.offsets is None:
            return replace(self, size=size)
        if not isinstance(self.offsets, Field):
            raise ProRandConvError.about("offsets", "a tensor", "None, or a Field as it was drawn")
        resized: dict[str, Any] = {"offsets": self.offsets.resized(size)}
        return replace(self, **resized)

    def to_json(self) -> str:
        """The text of a draw file with this draw; see :meth:`save`."""
        return drawfile.text_of(vars(self), self._transform())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the draw and its options to a small file of JSON that stays readable for good.

        ``docs/draws.md`` describes the file. The loaded draw replays bit for bit.

        Args:
            path: of the file, by custom ``*.draw.json``.
        """
        drawfile.write(path, self.to_json())

    @classmethod
    def from_json(cls: type[Self], text: str) -> Self:
        """The draw in the text of a draw file, on the CPU; see :meth:`load`."""
        return cls(**drawfile.parts_of(text, cls._transform()))

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """The draw in a file that :meth:`save` or the playground has written, on the CPU.

        The same transform applies it, or without one
        ``functional.pro_rand_conv(x, params, **params.options)``.

        Args:
            path: of the file.
        """
        with drawfile.naming(path):
            return cls.from_json(drawfile.read(path))

    def _tensors(self) -> dict[str, Tensor | Field]:
        """What has a further dimension with one draw per image."""
        return {
            name: value
            for name, value in vars(self).items()
            if isinstance(value, NUMBERS) and name != "chosen"
        }

    @classmethod
    def _transform(cls) -> str:
        """Name of the transform that makes such draws."""
        return cls.__name__.removesuffix("Params")


@dataclass(frozen=True, eq=False)
class ProRandConvParams(BlockParams):
    """One draw of :class:`ProRandConv`, as plain tensors; see :class:`BlockParams` for shapes."""


@dataclass(frozen=True, eq=False)
class RandConvParams(BlockParams):
    """One draw of :class:`RandConv`, as plain tensors; see :class:`BlockParams` for shapes."""

    mix: Tensor | None = None
    """share ``()`` of the original image in the result, or None"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_optional("mix")
