"""The options that applying a draw takes, beside the draw."""

from __future__ import annotations

from typing import Literal, get_args

Padding = Literal["zeros", "reflect", "replicate"]
Bound = Literal["clamp", "standardise"]
Output = Literal["tanh", "pixels"]
ContrastPart = Literal["standardise", "affine", "tanh"]
Size = tuple[int, ...]
"""Height and width of images, or depth, height and width of volumes."""

PADDINGS: tuple[Padding, ...] = get_args(Padding)
BOUNDS: tuple[Bound, ...] = get_args(Bound)
OUTPUTS: tuple[Output, ...] = get_args(Output)
CONTRAST_PARTS: tuple[ContrastPart, ...] = get_args(ContrastPart)

STANDARDISE_EPS = 1e-5
"""Added to the variance when standardising."""
