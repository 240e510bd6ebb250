"""What one draw consists of. All that is random, and all options of applying it, are in it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from . import checks, drawfile, ops
from .errors import ProRandConvError
from .fields import Field
from .options import (
    BOUNDS,
    CONTRAST_PARTS,
    OUTPUTS,
    PADDINGS,
    STANDARDISE_EPS,
    Bound,
    ContrastPart,
    Output,
    Padding,
    Size,
)

Repeats = int | tuple[int, ...]
"""How often a block is applied: one number, or one for each image that has a draw of its own."""
Self = TypeVar("Self", bound="Draw")


@dataclass(frozen=True)
class Options:
    """How a draw is applied; checked when it is made."""

    contrast: tuple[ContrastPart, ...] = CONTRAST_PARTS
    """which of ``"standardise"``, ``"affine"``, ``"tanh"`` follow each convolution"""
    eps: float = STANDARDISE_EPS
    """added to the variance when standardising"""
    padding: Padding = "zeros"
    """``"zeros"``, ``"reflect"`` or ``"replicate"``"""
    bound: Bound | None = None
    """what keeps the result in range where neither standardisation nor tanh does: ``"clamp"`` to
    the range of normalised pixels, ``"standardise"``, or None"""
    output: Output = "tanh"
    """``"tanh"`` returns [-1, 1] as it is, ``"pixels"`` maps it to normalised pixels"""
    mean: tuple[float, ...] = (0.5,)
    """of the normalisation that the images went through, one number or one per channel"""
    std: tuple[float, ...] = (0.5,)
    """likewise"""

    def __post_init__(self) -> None:
        for name in ("contrast", "eps", "mean", "std"):
            checked = CHECKS[name](name, checks.to_python(getattr(self, name)))
            object.__setattr__(self, name, checked)
        checks.one_of("padding", self.padding, PADDINGS)
        checks.one_of("bound", self.bound, (*BOUNDS, None))
        checks.one_of("output", self.output, OUTPUTS)
        if 1 < len(self.mean) != len(self.std) > 1:
            raise ProRandConvError.about(
                "std", self.std, f"a number, or {len(self.mean)} as in mean"
            )
        if self.bound is not None and self.is_bounded:
            raise ProRandConvError.about(
                "bound", self.bound, "None where contrast standardises or ends in tanh"
            )
        if self.output == "pixels" and "tanh" not in self.contrast:
            raise ProRandConvError.about(
                "output", self.output, '"tanh" (the result as it is), as this contrast has no tanh'
            )

    @property
    def is_bounded(self) -> bool:
        """Whether contrast keeps the result in range."""
        return "standardise" in self.contrast or "tanh" in self.contrast


CHECKS: dict[str, Any] = {
    "contrast": lambda name, value: checks.subset(name, value, CONTRAST_PARTS),
    "eps": checks.number,
    "mean": checks.normalisation,
    "std": checks.normalisation,
}
"""How options are checked that may be written in several ways."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Draw:
    """One draw of a random convolution block, or one draw per image, and how it is applied.

    Shapes are those of one draw for the whole batch. With one draw per image, every tensor has a
    further leading dimension of N, and ``repeats`` is a tuple of N numbers. A draw for volumes has
    kernels ``(C, C, k, k, k)`` and offsets ``(3k³, D, H, W)``, dz, dy and dx for each tap. Parts
    that do not fit together raise an error, so a draw can be edited with ``dataclasses.replace``.
    Tensors are not to be changed in place.
    """

    weight: Tensor
    """convolution weights, smoothing included: ``(C, C, k, k)``, or ``(L_max, C, C, k, k)`` if they
    differ between repetitions"""
    offsets: Tensor | Field | None = None
    """deformable offsets in pixels ``(2k², H, W)``: as drawn a :class:`prorandconv.fields.Field`,
    whose ``dense()`` is the tensor; or a tensor, or None"""
    gamma: Tensor | None = None
    """affine scale ``(C,)``, or None"""
    beta: Tensor | None = None
    """affine shift ``(C,)``, or None"""
    mix: Tensor | None = None
    """share ``()`` of the original image in the result, or None"""
    repeats: Repeats = 1
    """how often the block is applied; 0 leaves the image as it is"""
    selected: Tensor | None = None
    """positions of the images that are augmented, on the CPU; None means all"""
    batch_size: int | None = None
    """number of images the selection was made from"""
    size: Size | None = None
    """height and width, of volumes after the depth, that the draw is for; by default those of the
    offsets"""
    options: Options = field(default_factory=Options)
    """how the draw is applied"""
    transform: str = "ProRandConv"
    """name of the transform that made the draw"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "repeats", checks.repeats(self.repeats))
        own = {"N": len(self.repeats)} if isinstance(self.repeats, tuple) else {}
        size = self._checked_size(len(own))
        object.__setattr__(self, "size", size)
        n, dims = "N " * len(own), len(size)
        layers = "L " * (isinstance(self.weight, Tensor) and self.layered)
        kernel = " k" * dims
        known = checks.shape("weight", self.weight, f"{n}{layers}C_out C{kernel}", **own)
        channels, most = known["C_out"], self.most_repeats
        if known["k"] % 2 == 0 or (channels != known["C"] and most != 1):
            expected = f"kernels (C, C{kernel.replace(' ', ', ')}), k odd"
            raise ProRandConvError.about("weight", tuple(self.weight.shape), expected)
        for name in ("mean", "std"):
            checks.per_channel(name, getattr(self.options, name), channels)
        if most > known.get("L", most):
            raise ProRandConvError.about(
                "repeats", most, f"at most {known['L']}, the number of drawn kernels"
            )
        if self.offsets is not None:
            taps = known["k"] ** dims
            checks.shape("offsets", self.offsets, f"{n}T {_SIDES[dims]}", T=dims * taps, **own)
        if (self.gamma is None) != (self.beta is None):
            absent, present = ("gamma", "beta") if self.gamma is None else ("beta", "gamma")
            raise ProRandConvError.about(absent, None, f"a tensor, as {present} is one, or neither")
        for name, value in (("gamma", self.gamma), ("beta", self.beta)):
            if value is not None:
                checks.shape(name, value, f"{n}C", C=channels, **own)
        if self.mix is not None:
            checks.shape("mix", self.mix, n, **own)
        checks.selection(self.selected, self.batch_size, own.get("N"))

    def _checked_size(self, own: int) -> Size:
        """The size of the offsets, or the given one where there are none."""
        if isinstance(self.offsets, Field):
            return self.offsets.size
        if isinstance(self.offsets, Tensor):
            dims = max(2, min(self.offsets.dim() - own - 1, 3))
            return tuple(self.offsets.shape[-dims:])
        if self.offsets is not None:
            raise ProRandConvError.about(
                "offsets", type(self.offsets).__name__, "a tensor, a Field or None"
            )
        if self.size is None or len(self.size) not in (2, 3):
            raise ProRandConvError.about(
                "size", self.size, "that of the images, as there are no offsets"
            )
        return tuple(self.size)

    def __repr__(self) -> str:
        parts = []
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Tensor | Field) and entry.name != "selected":
                value = checks.described(value)
            parts.append(f"{entry.name}={value if isinstance(value, str) else repr(value)}")
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def spatial_dims(self) -> int:
        """2 for images, 3 for volumes."""
        assert self.size is not None
        return len(self.size)

    @property
    def channels(self) -> int:
        """Of the images that the draw is for."""
        return self.weight.shape[-self.spatial_dims - 1]

    @property
    def kernel_size(self) -> int:
        """Side of the kernel, odd."""
        return self.weight.shape[-1]

    @property
    def per_image(self) -> bool:
        """Whether each image has a draw of its own."""
        return isinstance(self.repeats, tuple)

    @property
    def layered(self) -> bool:
        """Whether ``weight`` has one kernel per repetition."""
        return self.weight.dim() - isinstance(self.repeats, tuple) == self.spatial_dims + 3

    @property
    def most_repeats(self) -> int:
        """The largest number of repetitions."""
        return max(self.repeats, default=0) if isinstance(self.repeats, tuple) else self.repeats

    @property
    def num_draws(self) -> int:
        """How many images are treated differently; 1 if all are treated alike."""
        if isinstance(self.repeats, tuple):
            return len(self.repeats)
        return 1 if self.selected is None or self.batch_size is None else self.batch_size

    @property
    def changed(self) -> list[int] | None:
        """Positions of the images that are changed; None means all."""
        selected = None if self.selected is None else self.selected.tolist()
        if not isinstance(self.repeats, tuple):
            return selected if self.repeats else []
        if selected is None:
            return None if all(self.repeats) else [n for n, r in enumerate(self.repeats) if r]
        return [n for n in selected if self.repeats[n]]

    def __getitem__(self: Self, n: int) -> Self:
        """The draw of one image, for this image alone; nothing in it is shared with this draw.

        Example:
            >>> from prorandconv import ProRandConv
            >>> augment, x = ProRandConv(mode="sample"), torch.rand(4, 3, 32, 32)
            >>> draw = augment.draw(x)
            >>> augment(x[2], draw=draw[2]).shape
            torch.Size([3, 32, 32])
        """
        several = isinstance(self.repeats, tuple)
        count = len(self.repeats) if isinstance(self.repeats, tuple) else self.batch_size or 1
        if type(n) is not int or not 0 <= n < count:
            raise IndexError(f"draw: got index {n!r}, expected an integer from 0 to {count - 1}")
        repeats = self.repeats[n] if isinstance(self.repeats, tuple) else self.repeats
        if self.selected is not None and n not in self.selected.tolist():
            repeats = 0
        copies: dict[str, Any] = {
            name: (value[n] if several else value).clone() for name, value in self.parts().items()
        }
        return replace(self, **copies, repeats=repeats, selected=None, batch_size=None)

    def of(self: Self, images: list[int]) -> Self:
        """The draws of some of the images that have a draw each, for an engine."""
        assert isinstance(self.repeats, tuple)
        parts: dict[str, Any] = {
            name: value[torch.tensor(images, device=value.device)]
            for name, value in self.parts().items()
        }
        repeats = tuple(self.repeats[n] for n in images)
        return replace(self, **parts, repeats=repeats, selected=None, batch_size=None)

    def operate(self, images: Tensor, engine: ops.Engine) -> Tensor:
        """All repetitions on images ``(N, C, H, W)`` that have the draw's device and dtype."""
        if not self.layered:
            return ops.apply(images, self, engine)
        dims, repeats = self.spatial_dims, self.repeats
        for number, weight in enumerate(self.weight.unbind(-dims - 3)[: self.most_repeats]):
            now = 1 if isinstance(repeats, int) else tuple(int(n > number) for n in repeats)
            images = ops.apply(images, replace(self, weight=weight, repeats=now), engine)
        return images

    def parts(self) -> dict[str, Tensor | Field]:
        """The tensors and fields of the draw, by name: all but the selection."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        found.pop("selected")
        return {name: part for name, part in found.items() if isinstance(part, Tensor | Field)}

    def to(
        self: Self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """The same draw on another device, or in another precision.

        Its selection stays on the CPU.
        """
        device = self.weight.device if device is None else torch.device(device)
        here, kind = self.parts(), dtype or self.weight.dtype
        if {(part.device, part.dtype) for part in here.values()} == {(device, kind)}:
            return self
        # A copy to the host that does not block could be read before it is complete.
        there: dict[str, Any] = {
            name: part.to(device, kind)
            if isinstance(part, Field)
            else part.to(device, kind, non_blocking=part.device.type == "cpu")
            for name, part in here.items()
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
            >>> draw = augment.draw(torch.rand(3, 96, 128))
            >>> augment(torch.rand(3, 24, 32), draw=draw.resized((24, 32))).shape
            torch.Size([3, 24, 32])
        """
        size = checks.size("size", size, self.spatial_dims)
        if self.offsets is None:
            return replace(self, size=size)
        if not isinstance(self.offsets, Field):
            raise ProRandConvError.about("offsets", "a tensor", "None, or a Field as it was drawn")
        return replace(self, offsets=self.offsets.resized(size))

    def to_json(self) -> str:
        """The text of a draw file with this draw; see :meth:`save`."""
        return drawfile.text_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the draw to a small file of JSON that stays readable for good.

        ``docs/draws.md`` describes the file. The loaded draw replays bit for bit.

        Args:
            path: of the file, by custom ``*.draw.json``.
        """
        drawfile.write(path, self.to_json())

    @staticmethod
    def from_json(text: str) -> Draw:
        """The draw in the text of a draw file, on the CPU; see :meth:`load`."""
        return drawfile.draw_of(text, Draw, Options)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Draw:
        """The draw in a file that :meth:`save` or the playground has written, on the CPU.

        Every transform replays it as it was made, and so does ``functional.apply(x, draw)``.

        Args:
            path: of the file.
        """
        with drawfile.reading(path) as text:
            return Draw.from_json(text)


_SIDES = {2: "H W", 3: "D H W"}
