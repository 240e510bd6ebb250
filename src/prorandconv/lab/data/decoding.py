"""One image file in, uint8 pixels out, or a message that says what is wrong with the file."""

from __future__ import annotations

import re
import struct
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile, UnidentifiedImageError
from torch import Tensor

from ..errors import DataError

SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)


def list_images(folder: Path) -> list[Path]:
    """Image files in a folder and those below it, by their extensions, in order of their paths."""
    inner = sorted(folder.rglob("*"))
    return [path for path in inner if path.suffix.casefold() in SUFFIXES and path.is_file()]


_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Pillow knows others, some of which call programs."""
_PLAIN = frozenset({"L", "RGB"})
_CONVERTED = {
    "1": "black and white, read as grey",
    "P": "palette, read through its colours",
    "CMYK": "CMYK, converted to RGB",
    "RGBA": "alpha, composited over white",
    "LA": "alpha, composited over white",
    "PA": "alpha, composited over white",
    "I;16": "16-bit, scaled to 8-bit",
    "I;16B": "16-bit, scaled to 8-bit",
}
_ADAM7 = (
    *((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4)),
    *((0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)),
)
"""The passes of an interlaced PNG: first column and row, and the steps between them."""
_REMEDY = "replace it with an intact copy, or remove it"


class Hash(Protocol):
    """What takes in the bytes of files, such as ``hashlib.sha256()``."""

    def update(self, data: bytes, /) -> None:
        """Take in some bytes."""


@dataclass(frozen=True)
class Decoded:
    """What reading a file has shown."""

    pixels: Tensor
    """uint8 ``(1, H, W)`` for grey, ``(3, H, W)`` for colour; empty if it cannot be decoded"""
    conversion: str = ""
    """what had to be done to a file that is neither 8-bit grey nor 8-bit RGB"""
    turned: bool = False
    """whether they were turned as the file's EXIF orientation says"""
    labels: Mapping[int, int] = field(default_factory=dict)
    """of a scene that was read to be hashed: the number of pixels of each class"""
    content: str = ""
    """a hash of its bytes, if it was read to be hashed"""
    problem: str = ""
    """why it cannot be decoded"""


def decode(path: Path | str, hashing: Hash | None = None, *, upright: bool = False) -> Decoded:
    """Decode an image file to 8-bit grey or RGB.

    Palette images are read through their colours, CMYK is converted, alpha is composited over white
    (what is stored under transparent pixels is arbitrary) and 16-bit is scaled to 8. Pillow decodes
    all of them: torchvision's decoder gives the same pixels, but some damaged files crash it.

    Args:
        path: the file.
        hashing: takes in the file's bytes, and that it was turned.
        upright: turn the picture as its EXIF orientation says; without, it stays as it is stored.
            Both hold for all formats.

    Raises:
        DataError: the file is missing, unreadable, truncated, not an image, too large, or of a kind
            without an obvious 8-bit picture.
    """
    decoded = read_image(path, lambda opened: pixels_of(opened, upright=upright), hashing)
    if decoded.turned and hashing is not None:
        hashing.update(UPRIGHT)
    return decoded


UPRIGHT = b"upright"
"""Counts in the hash of a file that was turned, and only there."""


T = TypeVar("T")


def read_image(
    path: Path | str, convert: Callable[[ImageFile.ImageFile], T], hashing: Hash | None = None
) -> T:
    """Open an image file that is there as a whole, and make something of it.

    Args:
        path: the file.
        convert: what to make of the opened image; may raise a DataError of its own.
        hashing: takes in the file's bytes.

    Raises:
        DataError: see :func:`decode`.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError.at(path, "no such file", "was it moved or renamed meanwhile?") from None
    except OSError as error:
        raise DataError.at(path, f"cannot be read ({error.strerror})", _REMEDY) from error
    if hashing is not None:
        hashing.update(data)
    try:
        with warnings.catch_warnings():
            # Files that can be decoded may have odd metadata; a huge image must not be decoded.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data), formats=_FORMATS) as opened:
                if opened.format == "PNG":
                    _require_all_rows(data)
                elif opened.format == "TIFF":
                    _require_all_strips(opened)
                result = convert(opened)
                if opened.format in ("JPEG", "MPO"):
                    _require_all_blocks(data, opened)
                return result
    except DataError:
        raise
    except UnidentifiedImageError:
        raise DataError.at(path, "not an image", "remove it, or replace it by one") from None
    except _UnusualError as error:
        raise DataError.at(path, str(error), "save it as 8-bit RGB") from None
    except Exception as error:  # a damaged file raises almost anything
        reason = str(error) or type(error).__name__
        raise DataError.at(path, f"cannot be decoded ({reason})", _REMEDY) from error


class _UnusualError(Exception):
    """Pixels without an obvious 8-bit picture."""


def _require_all_rows(png: bytes) -> None:
    """Raise for a PNG that holds fewer pixels than it should: Pillow leaves the others black."""
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    bits = depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    passes = _ADAM7 if interlaced else ((0, 0, 1, 1),)
    expected = 0
    for left, top, across, down in passes:
        columns, rows = -(-(width - left) // across), -(-(height - top) // down)
        # a row of no pixels is not stored, not even the byte that each row begins with
        expected += rows * (1 + -(-columns * bits // 8)) if columns > 0 else 0
    stream = zlib.decompressobj()
    place, read = 8, 0
    while read < expected and place + 8 <= len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        if kind == b"IDAT":
            part = stream.decompress(png[place + 8 : place + 8 + length], expected - read)
            read += len(part)
        place += length + 12
    if read < expected:
        raise ValueError(f"truncated: {read} of {expected} bytes of pixels")


def _require_all_strips(tiff: ImageFile.ImageFile) -> None:
    """Raise for a TIFF whose strips or tiles do not cover it: Pillow leaves the rest black."""
    boxes = [box for _, box, *_ in tiff.tile if box]
    covered = sum((right - left) * (bottom - top) for left, top, right, bottom in boxes)
    if covered < tiff.width * tiff.height:
        raise ValueError(f"strips of pixels are missing from {tiff.width} × {tiff.height} pixels")


_FILLER = bytes((37 * i * i + 11 * i) % 255 for i in range(4096))
"""Compressed pixels of no meaning, without the byte that begins a marker."""


def _require_all_blocks(jpeg: bytes, loaded: ImageFile.ImageFile) -> None:
    """Raise for a JPEG whose pixels end before its end marker: Pillow leaves the rest grey."""
    corner = loaded.getpixel((loaded.width - 1, loaded.height - 1))
    grey = all(126 <= value <= 130 for value in np.atleast_1d(np.array(corner)))
    if not grey and "progressive" not in loaded.info:
        return
    # More pixels before the end marker change the picture only if it had too few.
    end = _end_of_jpeg(jpeg)
    with Image.open(BytesIO(jpeg[:end] + _FILLER + jpeg[end:]), formats=("JPEG",)) as longer:
        if longer.tobytes() != loaded.tobytes():
            raise ValueError("truncated: its pixels end early")


def _end_of_jpeg(jpeg: bytes) -> int:
    """Where the end marker of the first picture in a file stands."""
    place = 2
    while place + 4 <= len(jpeg) and jpeg[place + 1] != 0xD9:
        scan = jpeg[place + 1] == 0xDA
        place += 2 + int.from_bytes(jpeg[place + 2 : place + 4], "big")
        # compressed pixels go on to the next marker; 00 and restarts are part of them
        marker = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]" if scan else rb"\xff[^\x00\xff]")
        found = marker.search(jpeg, place)
        place = found.start() if found else len(jpeg)
    return place


def pixels_of(opened: ImageFile.ImageFile, *, upright: bool = False) -> Decoded:
    """The pixels of an opened image, as :func:`decode` returns them."""
    conversion = ""

    def load() -> NDArray[np.uint8]:
        nonlocal conversion
        values, conversion = _eight_bit(opened)
        return values

    pixels, turned = oriented(opened, load, upright=upright)
    return Decoded(torch.from_numpy(pixels), conversion, turned)


def _eight_bit(opened: ImageFile.ImageFile) -> tuple[NDArray[np.uint8], str]:
    """Pixels ``(1 or 3, H, W)``, and how they were converted."""
    mode = opened.mode
    if mode.startswith("I;16"):
        values = np.asarray(opened).astype(np.int32)
        scaled: NDArray[np.uint8] = ((values + 128) // 257).astype(np.uint8)
        return scaled[None], _CONVERTED["I;16"]
    if "transparency" in opened.info or mode in {"RGBA", "LA", "PA"}:
        over = opened.convert("RGBA")
        white = Image.new("RGBA", over.size, "white")
        return _array(Image.alpha_composite(white, over).convert("RGB")), _CONVERTED["RGBA"]
    if mode in _PLAIN:
        # Pillow has no mode for 16-bit colour: it says so where it describes the stored bytes.
        conversion = _CONVERTED["I;16"] if ";16" in str(opened.tile) else ""
        return _array(opened), conversion
    if mode in _CONVERTED:
        return _array(opened.convert("L" if mode == "1" else "RGB")), _CONVERTED[mode]
    raise _UnusualError(f"pixels of kind {mode!r} have no obvious 8-bit picture")


def _array(image: Image.Image) -> NDArray[np.uint8]:
    array = np.array(image, np.uint8)
    return array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1))


Values = TypeVar("Values", bound=np.generic)


def oriented(
    opened: ImageFile.ImageFile, load: Callable[[], NDArray[Values]], *, upright: bool
) -> tuple[NDArray[Values], bool]:
    """Pixels upright or as they are stored, whatever Pillow does with the format.

    Args:
        opened: the image, not loaded yet.
        load: gives its pixels ``(..., H, W)``.
        upright: turn them as the EXIF orientation says.

    Returns:
        The pixels, and whether they were turned as it says.
    """
    # Pillow turns TIFFs when it loads them, removes the entry, and leaves other formats alone. Of
    # a PNG the entry may stand behind the pixels.
    tiff = opened.format == "TIFF"
    if not tiff and not upright:
        return load(), False
    stored = _orientation(opened) if tiff else 1
    pixels = load()
    turned = tiff and _orientation(opened) == 1
    stored = stored if tiff else _orientation(opened)
    if upright and not turned:
        pixels = _turned(pixels, stored)
    elif turned and not upright:
        pixels = _turned(pixels, {6: 8, 8: 6}.get(stored, stored))
    return pixels, upright and stored in range(2, 9)


def _orientation(opened: Image.Image) -> int:
    """How the picture is to be turned, from 1 (not at all) to 8, as EXIF counts."""
    return int(opened.getexif().get(ExifTags.Base.Orientation, 1))


def _turned(pixels: NDArray[Values], orientation: int) -> NDArray[Values]:
    """Turn or mirror pixels ``(..., H, W)``; unknown orientations change nothing."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(-2, -1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[..., :, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[..., ::-1, :]
    return np.ascontiguousarray(pixels)
