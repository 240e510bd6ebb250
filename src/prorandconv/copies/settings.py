"""What decides about the pixels of the copies, and is kept in their manifest."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from ..errors import require
from ..lab.options import SHOWN_DEFAULT, OrDefault
from ..lab.run.values import plain
from ..options import Padding

if TYPE_CHECKING:  # --help must not wait for torch
    from .. import ProRandConv

LARGEST_LABEL = 65_535
"""What a mask of 16 bits holds."""


@dataclass(frozen=True)
class Operator:
    """Options of the block, by the library's names; see :class:`prorandconv.ProRandConv`."""

    kernel_size: int = 3
    """side k of the kernel, odd"""
    max_repeats: int = 10
    """L_max: L is drawn from 1 to this number"""
    repeats: OrDefault[int] = None
    """a fixed L instead"""
    weights: Literal["same", "different"] = "same"
    """the same weights in all repetitions, or different ones"""
    smoothing: Annotated[tuple[float, float] | Literal["none"], SHOWN_DEFAULT] = (0.01, 1.0)
    """range of σ_g, the width of the Gaussian filter on the kernel; none: no filter"""
    offsets: Annotated[tuple[float, float] | Literal["auto", "none"], SHOWN_DEFAULT] = "auto"
    """range of σ_Δ, the deviation of offsets in pixels; auto: by picture size; none: no offsets"""
    shared_offsets: bool = False
    """one field of offsets for all taps of the kernel, which bends the picture as a whole"""
    contrast: bool = True
    """contrast diversification"""
    gamma_std: float = 0.5
    """σ_γ of the affine's scale"""
    beta_std: float = 0.5
    """σ_β of the affine's shift"""
    padding: Padding = "zeros"
    """border mode: what a picture is taken to be outside"""

    def transform(self) -> ProRandConv:
        """The transform with these options; a wrong one raises an error that names it."""
        from .. import ProRandConv

        options: dict[str, Any] = {
            name: None if value == "none" else value for name, value in asdict(self).items()
        }
        return ProRandConv(**options)


@dataclass(frozen=True)
class Settings:
    """How many copies are made of each picture, and how."""

    copies: int = 4
    """number of augmented copies of each picture, each under a draw of its own"""
    include_originals: bool = False
    """store each picture itself too, as copy 0: one folder then has all that training needs"""
    seed: int = 0
    """of all draws; each depends on it, the picture's name and the copy, and on nothing else"""
    size: OrDefault[int] = None
    """length in pixels to resize the shorter side to (default: each picture keeps its size)"""
    format: Literal["png", "webp"] = "png"
    """of the files, both without loss; webp is smaller and slower. Masks are always png"""
    grey: Literal["keep", "colour"] = "keep"
    """copies of grey pictures stay grey, or become coloured, as in the lab's training"""
    labels: Literal["fixed", "move"] = "fixed"
    """labels of masks stay where they are (the paper), or move with the picture"""
    ignore_index: int = 255
    """label of what moves in from outside of the picture"""
    operator: Annotated[Operator, tyro.conf.arg(name="")] = field(default_factory=Operator)

    def __post_init__(self) -> None:
        require("--copies", self.copies, self.copies >= 1, "1 or more")
        require("--size", self.size, self.size is None or self.size >= 1, "1 pixel or more")
        label, largest = self.ignore_index, LARGEST_LABEL
        require("--ignore-index", label, 0 <= label <= largest, f"0 to {largest}")

    @property
    def numbers(self) -> range:
        """Of the copies of each picture; 0 is the picture itself."""
        return range(0 if self.include_originals else 1, self.copies + 1)

    def to_mapping(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return plain(self)

    @classmethod
    def from_mapping(cls, values: dict[str, Any]) -> Settings:
        """From the values of a manifest."""
        operator: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values["operator"].items()
        }
        return cls(**{**values, "operator": Operator(**operator)})
