"""One picture in as the augmentation takes it, and out again as pixels."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from ..data.decoding import decode
from ..data.pixels import normalise


def read_picture(path: Path, size: int) -> Tensor:
    """The middle square of an image file, ``(3, size, size)`` in [-1, 1].

    Args:
        path: of the file.
        size: side of the result in pixels.
    """
    pixels = decode(path).pixels
    side = min(pixels.shape[-2:])
    square = tvf.resize(tvf.center_crop(pixels, [side, side]), [size, size], antialias=True)
    return normalise(square[None], (0.5,) * 3, (0.5,) * 3)[0]


def shown(image: Tensor) -> Image.Image:
    """A normalised image ``(3, H, W)`` as pixels; what is outside [-1, 1] is cut off."""
    pixels = image.add(1).mul(127.5).round().clamp(0, 255).byte()
    return Image.fromarray(pixels.permute(1, 2, 0).contiguous().numpy())
