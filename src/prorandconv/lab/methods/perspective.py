"""Perspective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms import v2

from .traditional import Traditional


@dataclass(frozen=True)
class Perspective(Traditional):
    """Mini-batches are seen from the side at random."""

    distortion: float = 0.5
    """how far corners move at most, as a share of half of the side"""
    p: float = 0.5
    """probability that a mini-batch is distorted"""

    def transform(self) -> Callable[[Tensor], Tensor]:
        """Torchvision's transform."""
        made: Callable[[Tensor], Tensor] = v2.RandomPerspective(self.distortion, self.p)
        return made
