"""One picture file in, upright 8-bit pixels out; and pixels as a file without loss."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile
from torch import Tensor, from_numpy
from torchvision.transforms.v2 import functional as tvf

from ..lab.data.decoding import Decoded, pixels_of, read_image
from ..lab.errors import DataError

Values = TypeVar("Values", bound=np.generic)

ENCODING: dict[str, dict[str, Any]] = {
    "png": {"format": "PNG", "compress_level": 3},
    "webp": {"format": "WEBP", "lossless": True, "method": 2},
}
"""A third of the time that the defaults take, and a tenth more bytes."""


def read_picture(path: Path) -> Decoded:
    """Decode a picture and turn it as its EXIF entry says.

    See :func:`~prorandconv.lab.data.decoding.decode`.

    Raises:
        DataError: see there; or the picture is animated, or a file of several.
    """

    def upright(opened: ImageFile.ImageFile) -> Decoded:
        refuse_several(opened, path)
        turn = orientation(opened)
        decoded = pixels_of(opened)
        turned = turned_upright(decoded.pixels.numpy(), turn)
        return Decoded(from_numpy(turned), decoded.conversion)

    return read_image(path, upright)


def refuse_several(opened: ImageFile.ImageFile, path: Path) -> None:
    """Refuse animations and files of several pages.

    Of MPO files, which phones write, the first picture is the photo; the others are previews.
    """
    count = getattr(opened, "n_frames", 1)
    if count > 1 and opened.format != "MPO":
        kind = "pages" if opened.format == "TIFF" else "frames, an animation"
        raise DataError.at(
            path, f"holds {count} {kind}", "save those that you need as files of their own"
        )


def orientation(opened: Image.Image) -> int:
    """How the picture is to be turned, from 1 (not at all) to 8, as EXIF counts."""
    return int(opened.getexif().get(ExifTags.Base.Orientation, 1))


def turned_upright(pixels: NDArray[Values], orientation: int) -> NDArray[Values]:
    """Turn or mirror pixels ``(..., H, W)``; unknown orientations change nothing."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(-2, -1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[..., :, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[..., ::-1, :]
    return np.ascontiguousarray(pixels)


def target_size(size: tuple[int, int], shorter: int | None) -> tuple[int, int]:
    """Height and width once the shorter side is that long; the ratio is kept.

    Example:
        >>> target_size((300, 400), 224), target_size((300, 400), None)
        ((224, 299), (300, 400))
    """
    if shorter is None:
        return size
    height, width = (max(round(side * shorter / min(size)), 1) for side in size)
    return height, width


def resized(pixels: Tensor, shorter: int | None) -> Tensor:
    """Pixels uint8 ``(C, H, W)``, bilinear and antialiased."""
    size = target_size((pixels.shape[-2], pixels.shape[-1]), shorter)
    result: Tensor = tvf.resize(pixels, list(size), antialias=True)
    return result


def encoded(pixels: Tensor, format: Literal["png", "webp"]) -> bytes:
    """Pixels uint8 ``(1 or 3, H, W)`` as the bytes of a file."""
    array = pixels[0] if len(pixels) == 1 else pixels.permute(1, 2, 0)
    file = BytesIO()
    Image.fromarray(array.contiguous().numpy()).save(file, **ENCODING[format])
    return file.getvalue()
