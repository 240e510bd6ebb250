"""Shifts of stored pixels that training does not use, to test a network with.

Each takes uint8 images ``(N, C, H, W)``, their positions in their set ``(N,)``, which alone decide
what is drawn, and a strength.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from ..caching import without_autocast


def blur(pixels: Tensor, index: Tensor, strength: float = 1 / 40) -> Tensor:
    """A Gaussian filter; strength is its standard deviation, as a share of the image's side."""
    sigma = strength * pixels.shape[-1]
    # Mirrored at the border, an image continues by less than its own sides.
    radius = [min(math.ceil(2 * sigma), length - 1) for length in pixels.shape[:-3:-1]]
    sides = [2 * pixels_beside + 1 for pixels_beside in radius]
    with without_autocast(pixels.device):
        blurred: Tensor = tvf.gaussian_blur(pixels, sides, [sigma, sigma])
    return blurred


def noise(pixels: Tensor, index: Tensor, strength: float = 0.1) -> Tensor:
    """Gaussian noise, another one for each image; strength is its standard deviation for [0, 1]."""
    drawn = [torch.randn(pixels.shape[1:], generator=generator_for(i)) for i in index.tolist()]
    return _rounded(pixels + 255 * strength * torch.stack(drawn).to(pixels.device))


def contrast(pixels: Tensor, index: Tensor, strength: float = 0.4) -> Tensor:
    """Less contrast; strength is what is left of each pixel's distance to the mean grey."""
    reduced: Tensor = tvf.adjust_contrast(pixels, strength)
    return reduced


def brightness(pixels: Tensor, index: Tensor, strength: float = 0.25) -> Tensor:
    """Brighter or darker, alternately; strength is what is added or taken, for [0, 1]."""
    sign = (1 - 2 * (index % 2)).view(-1, 1, 1, 1).to(pixels.device)
    return _rounded(pixels + 255 * strength * sign)


def posterise(pixels: Tensor, index: Tensor, strength: float = 2) -> Tensor:
    """Few levels; strength is how many bits of each pixel are left."""
    reduced: Tensor = tvf.posterize(pixels, int(strength))
    return reduced


def solarise(pixels: Tensor, index: Tensor, strength: float = 128) -> Tensor:
    """Bright pixels inverted; strength is the darkest of them."""
    inverted: Tensor = tvf.solarize(pixels, strength)
    return inverted


def invert(pixels: Tensor, index: Tensor, strength: float = 1) -> Tensor:
    """All pixels inverted, in a share of the channels, the first ones; strength is the share."""
    count = math.ceil(strength * pixels.shape[1])
    return torch.cat((255 - pixels[:, :count], pixels[:, count:]), 1)


class Shift(Protocol):
    """(pixels, index, strength) -> shifted pixels, uint8 ``(N, C, H, W)``."""

    def __call__(self, pixels: Tensor, index: Tensor, strength: float = ..., /) -> Tensor:
        """Shift the images."""


FAMILIES: dict[str, Shift] = {
    "blur": blur,
    "noise": noise,
    "contrast": contrast,
    "brightness": brightness,
    "posterise": posterise,
    "solarise": solarise,
    "invert": invert,
}

STRENGTHS: dict[str, tuple[float, float, float]] = {
    "blur": (1 / 80, 1 / 40, 1 / 20),
    "noise": (0.05, 0.1, 0.2),
    "contrast": (0.6, 0.4, 0.2),
    "brightness": (0.125, 0.25, 0.5),
    "posterise": (3, 2, 1),
    "solarise": (192, 128, 64),
    "invert": (1 / 3, 2 / 3, 1),
}
"""Weak, medium and strong. Images of one channel are inverted wholly by all three."""


def generator_for(position: int) -> torch.Generator:
    """Where the random numbers of the image at a position come from."""
    return torch.Generator().manual_seed(position)


def _rounded(pixels: Tensor) -> Tensor:
    return pixels.round().clamp(0, 255).to(torch.uint8)
