"""Base augmentation of images and scenes: pure functions of stored pixels and random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as tvf

TRANSLATION_SCALE = 1.125
"""Random translation enlarges an image by this factor and crops it back to its size, as in the
protocol that the paper follows for PACS, OfficeHome and VLCS."""

JITTER_ZOOM, JITTER_SHIFT, JITTER_TURN = 1.4, 0.2, 15.0
"""The strongest jitter: zoom by this factor either way, shift by this share of the side, and turn
by this number of degrees."""


def resize(images: Tensor, size: int, *, chunk: int = 4096) -> Tensor:
    """Resize uint8 images to ``size`` × ``size``, bilinear and antialiased.

    Args:
        images: uint8 ``(N, C, H, W)``.
        size: side of the result.
        chunk: how many images are resized at once; bounds the memory in between.

    Returns:
        uint8 ``(N, C, size, size)``; the input itself if it has that size.
    """
    if images.shape[-2:] == (size, size):
        return images
    result = torch.empty(*images.shape[:2], size, size, dtype=images.dtype)
    for begin in range(0, len(images), chunk):
        part = slice(begin, begin + chunk)
        result[part] = tvf.resize(images[part], [size, size], antialias=True)
    return result


def normalise(images: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Normalise stored images for a network.

    Args:
        images: uint8 ``(N, 1, H, W)`` or ``(N, 3, H, W)``; grey is repeated over the channels.
        mean: of each of the three channels, for pixels in [0, 1].
        std: of each of the three channels.

    Returns:
        float32 ``(N, 3, H, W)``: (pixel / 255 - mean) / std.
    """
    means = torch.tensor(mean, device=images.device).view(1, 3, 1, 1)
    stds = torch.tensor(std, device=images.device).view(1, 3, 1, 1)
    return torch.addcmul(-means / stds, images.float(), 1 / (255 * stds))


def flip(images: Tensor, chosen: Tensor) -> Tensor:
    """Flip the chosen images horizontally.

    Args:
        images: ``(N, C, H, W)``.
        chosen: booleans ``(N,)``.
    """
    return torch.where(chosen.view(-1, 1, 1, 1), images.flip(-1), images)


def translate(images: Tensor, chosen: Tensor, corner: Tensor) -> Tensor:
    """Enlarge the chosen images and crop each at its own corner: a shift without empty borders.

    Args:
        images: uint8 ``(N, C, H, W)``.
        chosen: booleans ``(N,)``.
        corner: where the crop begins, ``(N, 2)`` in [0, 1]: from the top and left end to the
            bottom and right end of the enlarged image.

    Returns:
        Images of the same shape.
    """
    if not bool(chosen.any()):
        return images
    height, width = images.shape[-2:]
    tall, wide = round(height * TRANSLATION_SCALE), round(width * TRANSLATION_SCALE)
    large = tvf.resize(images[chosen], [tall, wide], antialias=True)
    span = torch.tensor([tall - height, wide - width], device=images.device)
    begin = (corner[chosen] * span).round().long()
    rows = begin[:, :1] + torch.arange(height, device=images.device)
    columns = begin[:, 1:] + torch.arange(width, device=images.device)
    one = torch.arange(len(large), device=images.device).view(-1, 1, 1, 1)
    channel = torch.arange(images.shape[1], device=images.device).view(1, -1, 1, 1)
    result = images.clone()
    result[chosen] = large[one, channel, rows[:, None, :, None], columns[:, None, None, :]]
    return result


def jitter_maps(drawn: Tensor, strength: float) -> Tensor:
    """Affine maps of a jitter, for :func:`warp`.

    Args:
        drawn: zoom, two shifts and turn of each image, ``(N, 4)`` in [-1, 1].
        strength: from 0 to 1, of the strongest zoom, shift and turn.

    Returns:
        ``(N, 2, 3)``.
    """
    zoom = (1 + strength * (JITTER_ZOOM - 1)) ** drawn[:, 0]
    angle = drawn[:, 3] * strength * math.radians(JITTER_TURN)
    cos, sin = zoom * angle.cos(), zoom * angle.sin()
    x, y = (2 * strength * JITTER_SHIFT * drawn[:, 1:3]).unbind(1)  # coordinates go from -1 to 1
    rows = (torch.stack([cos, -sin, x], 1), torch.stack([sin, cos, y], 1))
    return torch.stack(rows, 1)


def warp(images: Tensor, maps: Tensor) -> Tensor:
    """Take the points of each image from elsewhere in it; beyond its border, the border goes on.

    Args:
        images: ``(N, C, H, W)``; uint8 is rounded.
        maps: from places in the result to places in the image, ``(N, 2, 3)``; both go from -1 to 1.
    """
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    found = F.grid_sample(images.float(), grid, padding_mode="border", align_corners=False)
    return found.round().clamp(0, 255).to(torch.uint8) if images.dtype == torch.uint8 else found


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
    """A crop of a scaled scene; if the scene is too small, black pixels without a class outside.

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
