"""Rotate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms import v2

from .traditional import Traditional


@dataclass(frozen=True)
class Rotate(Traditional):
    """Each mini-batch is turned by a random angle."""

    degrees: float = 30.0
    """largest angle, either way"""

    def transform(self) -> Callable[[Tensor], Tensor]:
        """Torchvision's transform."""
        made: Callable[[Tensor], Tensor] = v2.RandomRotation(self.degrees)
        return made
