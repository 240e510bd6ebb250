"""Colour jitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms import v2

from .traditional import Traditional


@dataclass(frozen=True)
class ColorJitter(Traditional):
    """Brightness, contrast, saturation and hue of each mini-batch are changed at random."""

    brightness: float = 0.5
    """largest relative change of the brightness"""
    contrast: float = 0.5
    """largest relative change of the contrast"""
    saturation: float = 0.5
    """largest relative change of the saturation"""
    hue: float = 0.5
    """largest turn of the hue, 0.5 being half of the circle"""

    def transform(self) -> Callable[[Tensor], Tensor]:
        """Torchvision's transform."""
        made: Callable[[Tensor], Tensor] = v2.ColorJitter(
            self.brightness, self.contrast, self.saturation, self.hue
        )
        return made
