"""Domains that fit into memory: arrays read from whichever accepted layout is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import DataError
from .benchmark import CheckReport, Counts, Domain
from .images import Images
from .readers import DIGITS, Arrays, npz_names, read_npz
from .samples import ImageFormat
from .splits import Split

PARTS = ("train", "test")
DIGIT_NAMES = tuple(str(digit) for digit in range(DIGITS))


@dataclass(frozen=True)
class Layout:
    """One way in which a data set is laid out on disk, as the parts "train" and "test".

    Attributes:
        description: how users see it.
        find: called with the benchmark's folder and a part; the files that hold it, or none.
        read: called with those files and the part.
        read_labels: the same for labels alone, if that is quicker.
    """

    description: str
    find: Callable[[Path, str], Sequence[Path]]
    read: Callable[[Sequence[Path], str], Arrays]
    read_labels: Callable[[Sequence[Path], str], NDArray[np.int64]] | None = None

    def labels(self, files: Sequence[Path], part: str) -> NDArray[np.int64]:
        """The labels of a part."""
        return self.read_labels(files, part) if self.read_labels else self.read(files, part).labels


def in_folders(
    description: str,
    files: Mapping[str, Sequence[str]],
    read: Callable[..., Arrays],
    folders: Sequence[str] = ("",),
    read_labels: Callable[..., NDArray[np.int64]] | None = None,
) -> Layout:
    """Parts in files of their own, all in one of several folders."""

    def find(folder: Path, part: str) -> list[Path]:
        for inner in folders:
            paths = [folder / inner / name for name in files.get(part, ())]
            if paths and all(path.exists() for path in paths):
                return paths
        return []

    labels = read_labels and (lambda paths, part: read_labels(*paths))
    return Layout(description, find, lambda paths, part: read(*paths), labels)


def npz(name: str) -> Layout:
    """One .npz file with x_train, y_train, x_test, y_test, or one of the two pairs."""

    def find(folder: Path, part: str) -> list[Path]:
        path = folder / name
        if not path.exists():
            return []
        try:
            names = npz_names(path)
        except DataError:
            return [path]  # is reported when it is read
        other = next(one for one in PARTS if one != part)
        only_other = f"x_{other}" in names and not {f"x_{part}", f"y_{part}"} & set(names)
        return [] if only_other else [path]

    description = f"{name} with x_train, y_train, x_test, y_test"
    return Layout(description, find, lambda paths, part: read_npz(paths[0], part))


def channels_first(images: NDArray[np.uint8]) -> Tensor:
    """Images as torch has them: ``(N, 1, H, W)`` for grey, ``(N, 3, H, W)`` for colour."""
    pixels = torch.from_numpy(images)
    return pixels[:, None] if pixels.ndim == 3 else pixels.permute(0, 3, 1, 2)


@dataclass(frozen=True)
class ArrayDomain(Domain):
    """A domain of small images held in memory.

    The validation split is the last twelfth of the training part (MNIST: its last 5,000), the
    training split is what comes before, in original order.

    Attributes:
        name: the domain's name.
        folder: the benchmark's folder.
        accepted: layouts, the first that is there is read.
        format: how the images reach the network.
        train_limit: how many training images are used, from the first.
        val_share: validation's share of the training part.
        extra: empty for the paper's domains; else what this one is.
    """

    name: str
    folder: Path
    accepted: Sequence[Layout]
    format: ImageFormat
    train_limit: int | None = None
    val_share: float = 1 / 12
    extra: str = ""

    def _found(self, part: str) -> tuple[Layout, Sequence[Path]] | None:
        """The first layout in which a part is there, and its files."""
        found = ((layout, layout.find(self.folder, part)) for layout in self.accepted)
        return next(((layout, files) for layout, files in found if files), None)

    def where(self) -> Path | None:
        """The file the domain is read from; None if it is missing."""
        found = (self._found(part) for part in PARTS)
        return next((files[0] for _, files in filter(None, found)), None)

    def parts(self) -> tuple[str, ...]:
        """The parts that are there, of "train" and "test"."""
        return tuple(part for part in PARTS if self._found(part))

    def layouts(self) -> tuple[str, ...]:
        """What is looked for."""
        return tuple(f"{self.folder}/{layout.description}" for layout in self.accepted)

    def counts(self) -> Counts:
        """Count the images of each digit in each part that is there."""
        counts = {}
        for part in PARTS:
            if found := self._found(part):
                layout, files = found
                labels = layout.labels(files, part)
                counts[part] = tuple(np.bincount(labels, minlength=DIGITS).tolist())
        return counts

    def read(self, part: str) -> Arrays:
        """Read a part as it is published."""
        if found := self._found(part):
            layout, files = found
            return layout.read(files, part)
        if self.where() is None:
            raise self.not_found()
        looked = " or ".join(self.layouts())
        raise DataError(f"domain {self.name!r} has no {part} images: looked for {looked}")

    def verify(self) -> CheckReport:
        """Read every part that is there."""
        counts: dict[str, tuple[int, ...]] = {}
        problems = []
        for part in self.parts():
            try:
                labels = self.read(part).labels
                counts[part] = tuple(np.bincount(labels, minlength=DIGITS).tolist())
            except DataError as error:
                problems.append(str(error))
        return CheckReport(self.name, self.where(), counts, tuple(dict.fromkeys(problems)))

    def load(self, split: Split) -> Images:
        """The images of a split, resized, in memory."""
        stored = self.read("test" if split == "test" else "train")
        chosen = slice(None)
        if split != "test":
            count = len(stored.labels)
            last = round(count * self.val_share)
            if not 0 < last < count:
                raise DataError(
                    f"domain {self.name!r} has {count} training image(s): too few to set some "
                    "aside for validation"
                )
            first = slice(0, min(self.train_limit or count, count - last))
            chosen = first if split == "train" else slice(count - last, count)
        return Images.in_memory(
            channels_first(stored.images[chosen]),
            torch.from_numpy(stored.labels[chosen]),
            classes=DIGIT_NAMES,
            split=split,
            format=self.format,
        )
