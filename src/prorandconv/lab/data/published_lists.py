"""Published lists of training and validation images, in the format of PACS's authors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from .folders import sub_folders

_KNOWN_TO_BE_WRONG = frozenset({"n02103406_4068-1.png"})
"""Listed by the authors of PACS, but not among their images."""


@dataclass(frozen=True)
class PublishedList:
    """A list of lines ``domain/class/file label``, labels from 1."""

    path: Path

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Class folder, file name and label (from 0) of each image."""
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            if not line.strip():
                continue
            name, _, label = line.strip().rpartition(" ")
            folders = name.split("/")
            if len(folders) < 2 or not label.isdigit() or int(label) < 1:
                raise DataError.at(
                    self.path, f"line {number} is {line!r}", "expected domain/class/file label"
                )
            if folders[-1] not in _KNOWN_TO_BE_WRONG:
                yield folders[-2], folders[-1], int(label) - 1


def find_lists(folder: Path, names: Sequence[str]) -> tuple[PublishedList, PublishedList] | None:
    """The training and validation lists of a domain, in the benchmark's folder or one below.

    Args:
        folder: the benchmark's folder.
        names: what the domain may be called.
    """
    for place in (folder, *sub_folders(folder)):
        for name in names:
            train = place / f"{name}_train_kfold.txt"
            val = place / f"{name}_crossval_kfold.txt"
            if train.exists():
                if not val.exists():
                    raise DataError.at(val, "absent, though the training list is there", "add it")
                return PublishedList(train), PublishedList(val)
    return None
