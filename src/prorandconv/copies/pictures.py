"""One picture file and its mask in, their copies under draws out, as bytes of files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFile
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from .. import Draw, ProRandConv, functional
from ..functional import warp_labels
from ..lab.data.decoding import Decoded, oriented, pixels_of, read_image
from ..lab.errors import DataError
from ..lab.files import digest, write_bytes
from .settings import Settings
from .tree import Picture

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
        require_single(opened, path)
        return pixels_of(opened, upright=True)

    return read_image(path, upright)


def require_single(opened: ImageFile.ImageFile, path: Path) -> None:
    """Raise for animations and files of several pages.

    Of MPO files, which phones write, the first picture is the photo; the others are previews.
    """
    count = getattr(opened, "n_frames", 1)
    if count > 1 and opened.format != "MPO":
        kind = "pages" if opened.format == "TIFF" else "frames, an animation"
        raise DataError.at(
            path, f"holds {count} {kind}", "save those that you need as files of their own"
        )


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


MODES = ("1", "L", "P", "I;16", "RGB")


@dataclass(frozen=True)
class Mask:
    """The labels of a picture.

    Attributes:
        values: ``(channels, H, W)``: numbers, positions in a palette, or colours.
        palette: red, green and blue of each position, if there is one.
    """

    values: NDArray[np.generic]
    palette: bytes | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.values.shape[-2], self.values.shape[-1]

    def resized(self, shorter: int | None) -> Mask:
        """The nearest label of each pixel; see :func:`target_size`."""
        rows, columns = (
            ((np.arange(new) + 0.5) * old / new).astype(int)
            for new, old in zip(target_size(self.size, shorter), self.size, strict=True)
        )
        return replace(self, values=self.values[:, rows[:, None], columns])

    def moved(self, params: Draw, ignore_index: int) -> Mask:
        """The labels moved as a draw moves its picture."""
        # A mask of one bit has no number for what comes from outside of the picture.
        values = self.values.astype(np.uint8) if self.values.dtype == bool else self.values
        labels = torch.from_numpy(np.ascontiguousarray(values))
        return replace(self, values=warp_labels(labels, params, ignore_index=ignore_index).numpy())

    def encoded(self) -> bytes:
        """As a PNG of the kind that the mask was."""
        single = len(self.values) == 1
        array = self.values[0] if single else self.values.transpose(1, 2, 0)
        image = Image.fromarray(np.ascontiguousarray(array))
        if self.palette is not None:
            # Pillow stores as few bits as the palette needs, and labels may be beyond its end.
            image.putpalette(self.palette.ljust(3 * 256, b"\xff"))
        file = BytesIO()
        image.save(file, format="PNG")
        return file.getvalue()


def read_mask(path: Path) -> Mask:
    """Read a mask as it is stored, turned as its EXIF entry says.

    Raises:
        DataError: the file is damaged, or of a kind that does not keep labels.
    """

    def stored(opened: ImageFile.ImageFile) -> Mask:
        require_single(opened, path)
        if opened.format in ("JPEG", "MPO"):
            raise DataError.at(path, "a JPEG, which changes labels", "export masks as PNG")
        if opened.mode not in MODES or (opened.mode == "RGB" and ";16" in str(opened.tile)):
            kind = "16-bit RGB" if opened.mode == "RGB" else opened.mode
            raise DataError.at(
                path,
                f"a mask of kind {kind!r}",
                "save it as grey of 8 or 16 bits, with a palette, or as 8-bit RGB",
            )
        palette = opened.getpalette("RGB")

        def load() -> NDArray[np.generic]:
            values = np.array(opened)
            return values[None] if values.ndim == 2 else values.transpose(2, 0, 1)

        values, _ = oriented(opened, load, upright=True)
        return Mask(values, None if palette is None else bytes(palette))

    return read_image(path, stored)


def generator_for(seed: int, name: str, copy: int) -> torch.Generator:
    """The source of one draw, whatever other pictures there are, and whoever makes them."""
    text = f"{seed}\n{copy}\n{name}".encode("utf-8", "surrogateescape")
    seeds = hashlib.sha256(text).digest()
    return torch.Generator().manual_seed(int.from_bytes(seeds[:8], "big") >> 1)


def draw(pixels: Tensor, augment: ProRandConv, generator: torch.Generator) -> Draw:
    """A draw for pixels uint8 ``(C, H, W)``, rounded as its file is."""
    params = augment.draw(_normalised(pixels), generator)
    return Draw.from_json(params.to_json())


def apply(pixels: Tensor, params: Draw) -> Tensor:
    """Pixels uint8 ``(C, H, W)`` under a draw."""
    styled = functional.apply(_normalised(pixels), params)
    return styled.add(1).mul(127.5).round().clamp(0, 255).byte()


def _normalised(pixels: Tensor) -> Tensor:
    return pixels / 127.5 - 1


LARGEST_WEBP = 16_383
"""Pixels of a side."""


@dataclass(frozen=True)
class Copy:
    """A copy of a picture.

    Attributes:
        entry: what the manifest says about it.
        files: the bytes of the picture and of its mask, by path within the target.
    """

    entry: dict[str, Any]
    files: dict[str, bytes]


@dataclass(frozen=True)
class Loaded:
    """A picture, upright and resized, and its mask."""

    pixels: Tensor
    conversion: str
    mask: Mask | None

    @classmethod
    def of(cls, path: Path, mask_path: Path | None, settings: Settings) -> Loaded:
        """Read the files.

        Raises:
            DataError: a file is damaged, of another kind, or the two do not fit.
        """
        decoded = read_picture(path)
        pixels = decoded.pixels
        mask = None if mask_path is None else read_mask(mask_path)
        if mask is not None and mask.size != tuple(pixels.shape[-2:]):
            own, other = (" × ".join(map(str, s)) for s in (mask.size, pixels.shape[-2:]))
            raise DataError.at(
                str(mask_path),
                f"is {own} pixels high and wide, but its picture {path} is {other}",
                "export the mask in the size of its picture, upright",
            )
        if settings.grey == "colour":
            pixels = pixels.expand(3, -1, -1)
        pixels = resized(pixels, settings.size)
        if settings.format == "webp" and max(pixels.shape) > LARGEST_WEBP:
            raise DataError.at(
                path,
                f"has a side of {max(pixels.shape):,} pixels, and WebP holds {LARGEST_WEBP:,}",
                "choose --format png, or a --size",
            )
        resized_mask = None if mask is None else mask.resized(settings.size)
        return cls(pixels, decoded.conversion, resized_mask)

    def under(self, params: Draw | None, settings: Settings) -> Loaded:
        """Picture and mask under a draw; None leaves them as they are."""
        if params is None:
            return self
        mask = self.mask
        if mask is not None and settings.labels == "move":
            mask = mask.moved(params, settings.ignore_index)
        return Loaded(apply(self.pixels, params), self.conversion, mask)


def copies_of(picture: Picture, settings: Settings) -> Iterator[Copy]:
    """Make all copies of a picture.

    Raises:
        DataError: the picture or its mask cannot be used.
    """
    mask_path, mask_name = picture.mask or (None, None)
    loaded = Loaded.of(picture.path, mask_path, settings)
    augment = settings.operator.transform()
    known = {
        "source": picture.name,
        "content": content_hash(picture.path),
        "mask_source": mask_name,
        "mask_content": None if mask_path is None else content_hash(mask_path),
        "conversion": loaded.conversion,
        "size": list(loaded.pixels.shape[-2:]),
    }
    for copy in settings.numbers:
        params = None
        if copy:
            generator = generator_for(settings.seed, picture.name, copy)
            params = draw(loaded.pixels, augment, generator)
        made = loaded.under(params, settings)
        name, mask_target = picture.target(copy, settings.format), picture.mask_target(copy)
        files = {name: encoded(made.pixels, settings.format)}
        if made.mask is not None and mask_target is not None:
            files[mask_target] = made.mask.encoded()
        entry = {
            "picture": name,
            "mask": mask_target,
            **known,
            "copy": copy,
            "repeats": 0 if params is None else params.repeats,
            "draw": None if params is None else json.loads(params.to_json()),
        }
        yield Copy(entry, files)


def content_hash(path: Path) -> str:
    """A hash of the bytes of a file."""
    return digest(path.read_bytes())[:32]


def store(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files as a whole, and never over others.

    Raises:
        DataError: there is a file of that name with other content.
    """
    for name, content in files.items():
        path = folder / name
        # A process that was killed may have written it without recording it.
        if not path.exists():
            write_bytes(path, content)
        elif path.read_bytes() != content:
            raise DataError.at(
                path, "is there already, with other content", "move it away: nothing is overwritten"
            )
