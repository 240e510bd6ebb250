"""Base augmentation of scenes as in RobustNet: scale, crop, flip, colours and blur.

Pure functions of a scene and random numbers: no randomness, no state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as tvf

SCALES = (0.5, 2.0)
JITTER_SHARE = 0.5
"""Of the crops whose colours are jittered."""
BRIGHTNESS = CONTRAST = SATURATION = 0.4
HUE = 0.1
BLUR = (0.15, 1.3)
"""Range of the blur's width in pixels."""

CROP_DRAWS = 14
"""Numbers in [0, 1) that a crop needs: scale, two of the place, flip, whether colours change, four
factors and their order, width of the blur."""


def cropped(
    scene: Tensor, draws: Sequence[float], size: int, unlabelled: int, *, scale: bool
) -> Tensor:
    """A crop of a scaled scene; where the scene is too small, black pixels without a class.

    Args:
        scene: uint8 ``(4, H, W)``, the last channel being classes.
        draws: numbers in [0, 1).
        size: side of the crop.
        unlabelled: the class of what lies outside.
        scale: False crops the scene as it is.

    Returns:
        uint8 ``(4, size, size)``.
    """
    low, high = SCALES
    factor = low + (high - low) * draws[0] if scale else 1.0
    spans = [
        _span(side, factor, size, place)
        for side, place in zip(scene.shape[-2:], draws[1:3], strict=True)
    ]
    (top, bottom, first_row, rows), (left, right, first_column, columns) = spans
    part = scene[:, top:bottom, left:right]
    pixels = tvf.resize(part[:3], [rows, columns], antialias=True)
    classes = tvf.resize(part[3:], [rows, columns], interpolation=InterpolationMode.NEAREST_EXACT)
    crop = torch.zeros(4, size, size, dtype=torch.uint8)
    crop[3] = unlabelled
    inside = crop[:, first_row : first_row + rows, first_column : first_column + columns]
    inside[:3], inside[3:] = pixels, classes
    return crop


def _span(side: int, factor: float, size: int, place: float) -> tuple[int, int, int, int]:
    """Along one side: begin and end in the scene; begin and length in the crop."""
    scaled = max(round(side * factor), 1)
    begin = (
        math.floor((scaled - size + 1) * place)
        if scaled >= size
        else -math.floor((size - scaled + 1) * place)
    )
    first, last = max(begin, 0), min(begin + size, scaled)
    return (
        min(math.floor(first * side / scaled), side - 1),
        max(math.ceil(last * side / scaled), 1),
        first - begin,
        last - first,
    )


def augmented(crop: Tensor, draws: Sequence[float]) -> Tensor:
    """Flip a crop, change its colours and blur it.

    Args:
        crop: uint8 ``(4, S, S)``, the last channel being classes.
        draws: numbers in [0, 1), the same as for :func:`cropped`.
    """
    if draws[3] < 0.5:
        crop = crop.flip(-1)
    pixels = crop[:3]
    if draws[4] < JITTER_SHARE:
        brightness, contrast, saturation, hue = (2 * draw - 1 for draw in draws[5:9])
        for step in torch.tensor(draws[9:13]).argsort().tolist():
            if step == 0:
                pixels = tvf.adjust_brightness(pixels, 1 + BRIGHTNESS * brightness)
            elif step == 1:
                pixels = tvf.adjust_contrast(pixels, 1 + CONTRAST * contrast)
            elif step == 2:
                pixels = tvf.adjust_saturation(pixels, 1 + SATURATION * saturation)
            else:
                pixels = tvf.adjust_hue(pixels, HUE * hue)
    sigma = BLUR[0] + (BLUR[1] - BLUR[0]) * draws[13]
    pixels = tvf.gaussian_blur(pixels, 2 * math.ceil(3 * sigma) + 1, sigma)
    return torch.cat([pixels, crop[3:]])
