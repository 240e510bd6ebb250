"""Make a copy again from its entry in the manifest: the picture it came from, and the draw."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .. import Draw
from ..lab.data.decoding import read_image
from ..lab.errors import DataError
from .folder import one_thread
from .manifest import NAME, find
from .pictures import Loaded, content_hash, encoded


def remade(path: Path, source: Path | None = None, masks: Path | None = None) -> bytes:
    """The bytes of a copy, or of a mask, whether it still is there or not.

    Args:
        path: of the copy, in the folder with its manifest.
        source: where the pictures are now; by default where they were.
        masks: where the masks are now, likewise.

    Raises:
        DataError: there is no entry, or the picture it was made of is missing or has changed.
    """
    path = Path(os.path.abspath(path))
    folder = _folder_of(path)
    target = path.relative_to(folder).as_posix()
    header, entry = find(folder / NAME, target)
    original = (source or folder / header.source) / entry["source"]
    _check_unchanged(original, entry["content"], "--source")
    mask = None
    if entry["mask_source"] is not None and header.masks is not None:
        mask = (masks or folder / header.masks) / entry["mask_source"]
        _check_unchanged(mask, entry["mask_content"], "--masks")
    draw = entry["draw"]
    params = None if draw is None else Draw.from_json(json.dumps(draw))
    with one_thread():
        made = Loaded.of(original, mask, header.settings).under(params, header.settings)
    if target == entry["mask"] and made.mask is not None:
        return made.mask.encoded()
    return encoded(made.pixels, header.settings.format)


def same_pixels(path: Path, content: bytes) -> bool:
    """Whether a file has the pixels of these bytes, however it is compressed."""
    stored: NDArray[np.generic] = read_image(path, np.array)
    with Image.open(BytesIO(content)) as image:
        return bool(np.array_equal(stored, np.array(image)))


def _folder_of(path: Path) -> Path:
    for folder in path.parents:
        if (folder / NAME).exists():
            return folder
    raise DataError.at(
        path, f"is in no folder with an {NAME}", "give the path of a copy beside its manifest"
    )


def _check_unchanged(path: Path, content: str, option: str) -> None:
    if not path.is_file():
        raise DataError.at(path, "no such file", f"give its folder with {option}")
    if content_hash(path) != content:
        raise DataError.at(
            path, "has changed since the copy was made", f"name an unchanged one with {option}"
        )
