"""One image file in, uint8 pixels out, or a message that says what is wrong with the file."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from ..errors import DataError

SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)

_BY_TORCHVISION = frozenset({"JPEG", "PNG", "WEBP"})
_PLAIN = frozenset({"L", "RGB"})
_CONVERTED = {
    "1": "black and white, read as grey",
    "P": "palette, read through its colours",
    "CMYK": "CMYK, converted to RGB",
    "RGBA": "alpha, laid over white",
    "LA": "alpha, laid over white",
    "PA": "alpha, laid over white",
    "I;16": "16-bit, scaled to 8-bit",
    "I;16B": "16-bit, scaled to 8-bit",
}
_REMEDY = "replace it with an intact copy, or remove it"


@dataclass(frozen=True)
class Decoded:
    """The pixels of a file."""

    pixels: Tensor
    """uint8 ``(1, H, W)`` for grey, ``(3, H, W)`` for colour"""
    conversion: str = ""
    """what had to be done to a file that is neither 8-bit grey nor 8-bit RGB"""


def decode(path: Path | str) -> Decoded:
    """Decode an image file to 8-bit grey or RGB.

    Files of 8-bit grey and RGB are decoded by torchvision. All others go through Pillow: palette
    images by their colours, CMYK converted, alpha laid over white (what is stored under
    transparent pixels is arbitrary), 16-bit scaled to 8.

    Args:
        path: the file.

    Raises:
        DataError: the file is missing, truncated, not an image, or of a kind without an obvious
            8-bit picture.
    """
    try:
        with Image.open(path) as opened:
            if opened.mode in _PLAIN and "transparency" not in opened.info:
                if opened.format in _BY_TORCHVISION:
                    return _by_torchvision(Path(path))
                return Decoded(_tensor(opened))
            return _by_pillow(Path(path), opened)
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError.at(path, "no such file", "was it moved or renamed meanwhile?") from None
    except UnidentifiedImageError:
        raise DataError.at(path, "not an image", "remove it, or replace it by one") from None
    except (
        *(OSError, RuntimeError, SyntaxError, ValueError, EOFError),
        Image.DecompressionBombError,
    ) as error:
        # torchvision's messages begin with places in its own source
        reason = (str(error).splitlines() or [type(error).__name__])[0].rsplit(", ", 1)[-1]
        raise DataError.at(path, f"cannot be decoded ({reason})", _REMEDY) from error


def _by_torchvision(path: Path) -> Decoded:
    from torchvision import io

    if not hasattr(io, "decode_image"):
        with Image.open(path) as opened:
            return Decoded(_tensor(opened))
    data = torch.from_numpy(np.fromfile(path, dtype=np.uint8))
    with warnings.catch_warnings():
        # torchvision 0.29 announces that its decoders will move to another package; where they
        # are gone, Pillow decodes.
        warnings.simplefilter("ignore", DeprecationWarning)
        pixels = io.decode_image(data)
    if pixels.dtype == torch.uint16:
        scaled = (pixels.to(torch.int32) + 128) // 257
        return Decoded(scaled.to(torch.uint8), _CONVERTED["I;16"])
    return Decoded(pixels)


def _by_pillow(path: Path, opened: Image.Image) -> Decoded:
    mode = opened.mode
    if mode.startswith("I;16"):
        values = np.asarray(opened).astype(np.int32)
        scaled = ((values + 128) // 257).astype(np.uint8)
        return Decoded(torch.from_numpy(scaled)[None], _CONVERTED["I;16"])
    if "transparency" in opened.info or mode in {"RGBA", "LA", "PA"}:
        over = opened.convert("RGBA")
        white = Image.new("RGBA", over.size, "white")
        return Decoded(
            _tensor(Image.alpha_composite(white, over).convert("RGB")), _CONVERTED["RGBA"]
        )
    if mode in _CONVERTED:
        return Decoded(_tensor(opened.convert("L" if mode == "1" else "RGB")), _CONVERTED[mode])
    raise DataError.at(
        path, f"pixels of kind {mode!r} have no obvious 8-bit picture", "save it as 8-bit RGB"
    )


def _tensor(image: Image.Image) -> Tensor:
    array = np.array(image)
    return torch.from_numpy(array[None] if array.ndim == 2 else array.transpose(2, 0, 1).copy())
