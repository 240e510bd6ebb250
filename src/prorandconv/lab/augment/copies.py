"""The copies of one picture and its mask: pixels as files, and an entry that makes them again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from ... import Draw
from ..data.inspection import content_hash
from ..errors import DataError
from ..files import write_bytes
from . import style
from .masks import Mask, read_mask
from .picture import encoded, read_picture, resized
from .settings import Settings
from .tree import Picture

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
            DataError: a file is damaged, of a kind that is refused, or the two do not fit.
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
        return Loaded(style.apply(self.pixels, params), self.conversion, mask)


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
            generator = style.generator_for(settings.seed, picture.name, copy)
            params = style.draw(loaded.pixels, augment, generator)
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


def store(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files as a whole, and never over others.

    Raises:
        DataError: there is a file of that name with other content.
    """
    for name, content in files.items():
        path = folder / name
        # A process that was killed may have written it, and not have told.
        if not path.exists():
            write_bytes(path, content)
        elif path.read_bytes() != content:
            raise DataError.at(
                path, "is there already, with other content", "move it away: nothing is overwritten"
            )
