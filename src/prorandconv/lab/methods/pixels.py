"""Normalised images as 8-bit pixels, which some augmentations work on, and back."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import ImageFormat


def to_pixels(x: Tensor, format: ImageFormat) -> Tensor:
    """Normalised images as uint8 of the same shape."""
    mean, std = _statistics(x, format)
    return (x * std + mean).mul(255).round().clamp(0, 255).to(torch.uint8)


def from_pixels(pixels: Tensor, format: ImageFormat) -> Tensor:
    """Pixels from 0 to 255, whole or not, as normalised images."""
    mean, std = _statistics(pixels, format)
    return (pixels / 255 - mean) / std


def _statistics(x: Tensor, format: ImageFormat) -> tuple[Tensor, Tensor]:
    mean, std = (torch.tensor(one, device=x.device) for one in (format.mean, format.std))
    return mean.view(1, 3, 1, 1), std.view(1, 3, 1, 1)
