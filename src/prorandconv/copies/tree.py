"""What is in the folder that is copied: pictures, their masks, and names for their copies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ..lab.data.decoding import SUFFIXES
from ..lab.errors import DataError


@dataclass(frozen=True)
class Picture:
    """A picture of the source.

    Attributes:
        name: its path within the source, with slashes.
        path: where it is.
        stem: what names of its copies begin with, folders included.
        mask: where its mask is, and the mask's path within the folder of masks.
    """

    name: str
    path: Path
    stem: str
    mask: tuple[Path, str] | None = None

    def target(self, copy: int, format: str) -> str:
        """Path of a copy within the target; copy 0 is the picture itself."""
        folder = "" if self.mask is None else "images/"
        return f"{folder}{self.stem}-{copy}.{format}"

    def mask_target(self, copy: int) -> str | None:
        """Path of the mask beside it."""
        return None if self.mask is None else f"masks/{self.stem}-{copy}.png"


@dataclass(frozen=True)
class Tree:
    """All pictures of a folder, by name, and files that are none by their extension."""

    pictures: tuple[Picture, ...]
    left_out: tuple[str, ...]

    @property
    def folders(self) -> int:
        """How many folders have pictures."""
        return len({PurePosixPath(picture.name).parent for picture in self.pictures})


def pictures_in(root: Path) -> Tree:
    """Find the pictures of a folder at any depth; links are followed, hidden files are not data.

    Raises:
        DataError: a folder cannot be listed, leads back to itself, or there are no pictures.
    """
    found = {path.relative_to(root).as_posix(): path for path in _files(root, ())}
    names = sorted(name for name, path in found.items() if path.suffix.casefold() in SUFFIXES)
    if not names:
        endings = " ".join(sorted(SUFFIXES))
        raise DataError.at(root, "holds no pictures", f"they have one of the endings {endings}")
    pictures = [Picture(name, found[name], stem) for name, stem in _stems(names).items()]
    return Tree(tuple(pictures), tuple(sorted(found.keys() - set(names))))


def with_masks(tree: Tree, root: Path) -> Tree:
    """The same pictures with the mask of each: the file of the same name, whatever its extension.

    Raises:
        DataError: a picture has no mask, or several.
    """
    masks: dict[str, list[str]] = {}
    for mask in pictures_in(root).pictures:
        masks.setdefault(_without_suffix(mask.name), []).append(mask.name)
    matched = {picture: masks.get(_without_suffix(picture.name), []) for picture in tree.pictures}
    missing = [picture.name for picture, names in matched.items() if not names]
    if missing:
        raise DataError.at(
            root,
            f"has no mask for {len(missing):,} of {len(matched):,} pictures, such as {missing[0]}",
            "a mask has its picture's path and name, and any extension",
        )
    for picture, names in matched.items():
        if len(names) > 1:
            raise DataError.at(
                root, f"has several masks for {picture.name}: {', '.join(names)}", "keep one"
            )
    pictures = [
        replace(picture, mask=(root / names[0], names[0])) for picture, names in matched.items()
    ]
    return replace(tree, pictures=tuple(pictures))


def _files(folder: Path, above: tuple[tuple[int, int], ...]) -> Iterator[Path]:
    """All files that are not hidden, each by the path that leads to it."""
    try:
        status = folder.stat()
        inner = sorted(folder.iterdir())
    except OSError as error:
        problem = f"cannot be listed ({error.strerror})"
        raise DataError.at(folder, problem, "check the path and its permissions") from error
    own = (status.st_dev, status.st_ino)
    if own in above:
        raise DataError.at(folder, "a link to a folder that it is in", "remove the link")
    for path in inner:
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _files(path, (*above, own))
        elif path.is_file() or path.is_symlink():  # a broken link is reported when it is read
            yield path


def _stems(names: list[str]) -> dict[str, str]:
    """What copies of each file are called: its name without extension, unless others have it too.

    Example:
        >>> _stems(["a.jpg", "a.png", "b.jpg"])
        {'a.jpg': 'a.jpg', 'a.png': 'a.png', 'b.jpg': 'b'}
    """
    stems = {name: _without_suffix(name) for name in names}
    while True:
        # Some file systems do not tell upper from lower case.
        counts = Counter(stem.casefold() for stem in stems.values())
        shared = [n for n, stem in stems.items() if counts[stem.casefold()] > 1 and stem != n]
        if not shared:
            return stems
        stems.update((name, name) for name in shared)


def _without_suffix(name: str) -> str:
    return os.path.splitext(name)[0]
