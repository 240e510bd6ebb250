"""Shifted validation: validation images under shifts of fixed strength and with fixed draws.

No target is looked at. The idea is that of Crafting Shifts (WACV 2025): what stands shifts that it
was not trained with is likelier to stand the next unknown one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from .images import Images, Subset
from .pixels import warp
from .splits import fingerprint

LIMIT = 300
"""So many validation images are shifted, always the same: all families together cost as much as
evaluating 2,400 images."""

BLUR = 1 / 40
"""standard deviation of the Gaussian filter, as a share of the image's side"""
NOISE = 0.1
"""standard deviation of Gaussian noise, for pixels in [0, 1]"""
CONTRAST = 0.4
"""what is left of the distance of each pixel to the image's mean grey"""
BRIGHTNESS = 0.25
"""added to one half of the images and taken from the other, for pixels in [0, 1]"""
BITS = 2
"""of each pixel that posterising leaves"""
THRESHOLD = 128
"""pixels from this one on are inverted by solarising"""
ZOOM = 1.2
"""images are enlarged or made smaller by up to this factor"""
SHIFT = 0.1
"""and moved by up to this share of their side"""


def blur(pixels: Tensor, index: Tensor) -> Tensor:
    """A Gaussian filter."""
    sigma = BLUR * pixels.shape[-1]
    side = 2 * math.ceil(2 * sigma) + 1
    blurred: Tensor = tvf.gaussian_blur(pixels, [side, side], [sigma, sigma])
    return blurred


def noise(pixels: Tensor, index: Tensor) -> Tensor:
    """Gaussian noise, another one for each image."""
    drawn = [torch.randn(pixels.shape[1:], generator=_generator(i)) for i in index.tolist()]
    return _rounded(pixels + 255 * NOISE * torch.stack(drawn))


def contrast(pixels: Tensor, index: Tensor) -> Tensor:
    """Less contrast."""
    reduced: Tensor = tvf.adjust_contrast(pixels, CONTRAST)
    return reduced


def brightness(pixels: Tensor, index: Tensor) -> Tensor:
    """Brighter or darker, by turns."""
    sign = (1 - 2 * (index % 2)).view(-1, 1, 1, 1)
    return _rounded(pixels + 255 * BRIGHTNESS * sign)


def posterise(pixels: Tensor, index: Tensor) -> Tensor:
    """Few levels."""
    reduced: Tensor = tvf.posterize(pixels, BITS)
    return reduced


def solarise(pixels: Tensor, index: Tensor) -> Tensor:
    """Bright pixels inverted."""
    inverted: Tensor = tvf.solarize(pixels, THRESHOLD)
    return inverted


def invert(pixels: Tensor, index: Tensor) -> Tensor:
    """All pixels inverted."""
    return 255 - pixels


def zoom_and_shift(pixels: Tensor, index: Tensor) -> Tensor:
    """Each image with its own small zoom and shift; its border goes on outside."""
    drawn = torch.stack([torch.rand(3, generator=_generator(i)) for i in index.tolist()]) * 2 - 1
    maps = torch.zeros(len(pixels), 2, 3)
    maps[:, 0, 0] = maps[:, 1, 1] = ZOOM ** drawn[:, 0]
    maps[:, :, 2] = drawn[:, 1:] * 2 * SHIFT  # coordinates go from -1 to 1
    return warp(pixels, maps)


Shift = Callable[[Tensor, Tensor], Tensor]
"""(pixels, index) -> shifted pixels, uint8 ``(N, C, S, S)``; the positions of the images in their
set, ``(N,)``, decide what is drawn."""

FAMILIES: dict[str, Shift] = {
    "blur": blur,
    "noise": noise,
    "contrast": contrast,
    "brightness": brightness,
    "posterise": posterise,
    "solarise": solarise,
    "invert": invert,
    "zoom-and-shift": zoom_and_shift,
}


class Shifted(Images):
    """Images under one family of shifts.

    Args:
        images: the set.
        family: one of ``FAMILIES``.
    """

    def __init__(self, images: Images, family: str) -> None:
        content = fingerprint([images.fingerprint, family])
        super().__init__(images.labels, images.classes, images.split, images.format, content)
        self.images = images
        self.shift = FAMILIES[family]

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Read and shift batches of images; see :meth:`Images.stored`."""
        for index, pixels in zip(indices, self.images.stored(indices), strict=True):
            yield self.shift(pixels, index)


def all_shifted(images: Images) -> dict[str, Images]:
    """A limited part of the images under each family of shifts."""
    part = Subset(images, LIMIT)
    return {family: Shifted(part, family) for family in FAMILIES}


def _generator(position: int) -> torch.Generator:
    return torch.Generator().manual_seed(position)


def _rounded(pixels: Tensor) -> Tensor:
    return pixels.round().clamp(0, 255).to(torch.uint8)
