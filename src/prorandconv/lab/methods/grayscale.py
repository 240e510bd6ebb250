"""Grayscale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms import v2

from .traditional import Traditional


@dataclass(frozen=True)
class Grayscale(Traditional):
    """Mini-batches lose their colours at random."""

    p: float = 0.5
    """probability that a mini-batch becomes grey"""

    def transform(self) -> Callable[[Tensor], Tensor]:
        """Torchvision's transform."""
        made: Callable[[Tensor], Tensor] = v2.RandomGrayscale(self.p)
        return made
