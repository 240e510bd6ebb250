"""Progressive: random convolutions stacked, without the block's further parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...functional import Padding
from ...selection import Strategy
from ..data import ImageFormat
from .contract import Loss, Method
from .pro_randconv import ProRandConvMethod


@dataclass(frozen=True)
class Progressive(Method):
    """A 3×3 random convolution applied L times: no smoothing, no offsets, no contrast.

    With the same weights in all repetitions it is the paper's Progressive (Same), with different
    ones its Progressive (Diff).
    """

    weights: Literal["same", "different"] = "same"
    """the same weights in all repetitions, or different ones"""
    kernel_size: int = 3
    """side k of the kernel, odd"""
    max_repeats: int = 10
    """L_max: L is drawn from 1 to this number"""
    repeats: int | None = None
    """a fixed L instead"""
    bound: Literal["clamp", "standardise"] | None = "clamp"
    """what keeps ten repetitions from growing without limit (None: nothing)"""
    padding: Padding = "zeros"
    """how an image goes on outside"""
    selection: Strategy | float = "both"
    """images to learn from: both, original, augmented, either, uniform, or a share of originals"""

    def loss(self, format: ImageFormat) -> Loss:
        """Cross-entropy of original and augmented images."""
        plain = ProRandConvMethod(
            kernel_size=self.kernel_size,
            max_repeats=self.max_repeats,
            repeats=self.repeats,
            weights=self.weights,
            smoothing=None,
            offsets=None,
            contrast=False,
            padding=self.padding,
            bound=self.bound,
            selection=self.selection,
        )
        return plain.loss(format)
