"""RandAugment (Cubuk et al., 2020)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms import v2

from .traditional import Traditional


@dataclass(frozen=True)
class RandAugment(Traditional):
    """Each mini-batch goes through some random operations of one magnitude."""

    operations: int = 2
    """how many operations in a row"""
    magnitude: int = 9
    """how strong they are, of 31"""

    def transform(self) -> Callable[[Tensor], Tensor]:
        """Torchvision's transform."""
        made: Callable[[Tensor], Tensor] = v2.RandAugment(self.operations, self.magnitude)
        return made
