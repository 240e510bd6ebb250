"""Finding data in folders, in whatever spelling they came, in an order of our own."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import DataError
from .decoding import SUFFIXES

_NOT_DATA = frozenset({"thumbs.db", "desktop.ini"})


def spelling(name: str) -> str:
    """What is left of a folder's name without case, spaces, dashes and underscores.

    Example:
        >>> spelling("Real World") == spelling("real_world") == spelling("RealWorld")
        True
    """
    return re.sub(r"[\s_-]+", "", name).casefold()


def folder_of(root: Path, *names: str) -> Path:
    """A benchmark's folder in the data root, or the root itself if it has such a name."""
    wanted = {spelling(name) for name in names}
    for folder in sub_folders(root):
        if spelling(folder.name) in wanted:
            return folder
    return root if spelling(root.name) in wanted else root / names[0]


def sub_folders(folder: Path) -> list[Path]:
    """Folders in a folder, by name; none if it is not there. Hidden ones do not count."""
    if not folder.is_dir():
        return []
    inner = (path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._")
    return sorted(inner, key=lambda path: path.name)


def images_in(folder: Path) -> list[Path]:
    """Image files in a folder, by name; refuses files that are not images by their ending."""
    paths = []
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.startswith(".") or path.name.casefold() in _NOT_DATA:
            continue
        if path.is_dir():
            raise DataError.at(path, "a folder among images", "expected domain/class/image files")
        if path.suffix.casefold() not in SUFFIXES:
            raise DataError.at(
                path,
                "not an image by its ending",
                f"move it away; images end in {' '.join(sorted(SUFFIXES))}",
            )
        paths.append(path)
    if not paths:
        raise DataError.at(folder, "a class folder without images", "fill it or fetch it again")
    return paths
