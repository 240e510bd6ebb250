"""Pure maths on batches of stored images: no randomness, no state."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

TRANSLATION_SCALE = 1.125
"""Random translation enlarges an image by this factor and crops it back to its size, as in the
protocol that the paper follows for PACS, OfficeHome and VLCS."""

JITTER_ZOOM, JITTER_SHIFT, JITTER_TURN = 1.4, 0.2, 15.0
"""The strongest jitter: zoom by this factor either way, shift by this share of the side, and turn
by so many degrees."""


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
        images: uint8 ``(N, C, H, W)``.
        maps: from places in the result to places in the image, ``(N, 2, 3)``; both go from -1 to 1.
    """
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    found = F.grid_sample(images.float(), grid, padding_mode="border", align_corners=False)
    return found.round().clamp(0, 255).to(torch.uint8)
