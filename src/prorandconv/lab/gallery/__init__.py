"""Figures that show what the augmentation does to a picture, one file each."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from .contrast import contrast
from .draws import draws
from .labels import labels
from .offsets import offsets
from .overview import overview
from .receptive import receptive
from .sheet import Sheet
from .smoothing import smoothing
from .steps import steps

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
