"""Figures that show what the augmentation does to a picture, one file each."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..sheets import Sheet
from .blocks import contrast, draws, overview, smoothing, steps
from .deformation import labels, offsets
from .receptive import receptive

FIGURES: dict[str, Callable[[Tensor, int], Sheet]] = {
    "overview": overview,
    "steps": steps,
    "contrast": contrast,
    "smoothing": smoothing,
    "offsets": offsets,
    "receptive": receptive,
    "labels": labels,
    "draws": draws,
}
"""Each makes a sheet from one normalised picture ``(3, S, S)`` and a seed."""
