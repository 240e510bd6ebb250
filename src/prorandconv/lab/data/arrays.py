"""Domains that fit into memory: arrays read from whichever accepted layout is there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import DataError
from .benchmark import Counts, Domain, Findings
from .images import Images
from .readers import DIGITS, Arrays, npz_names, read_npz
from .samples import ImageFormat
from .splits import Split

PARTS = ("train", "test")
DIGIT_NAMES = tuple(str(digit) for digit in range(DIGITS))


class Layout(ABC):
    """One way in which a data set is laid out on disk, as the parts "train" and "test"."""

    description: str

    @abstractmethod
    def where(self, folder: Path, part: str) -> Path | None:
        """The file that holds a part; None if it is not there."""

    @abstractmethod
    def read(self, folder: Path, part: str) -> Arrays:
        """Read a part that is there."""

    def labels(self, folder: Path, part: str) -> NDArray[np.int64]:
        """Read the labels of a part that is there."""
        return self.read(folder, part).labels


@dataclass(frozen=True)
class FileLayout(Layout):
    """Parts in files of their own.

    Attributes:
        description: how users see it.
        files: for each part, its files relative to the benchmark's folder.
        reader: called with those files.
        folders: where else than in the benchmark's folder itself the files may be.
        label_reader: reads labels alone, where that is quicker.
    """

    description: str
    files: Mapping[str, tuple[str, ...]]
    reader: Callable[..., Arrays]
    folders: tuple[str, ...] = ("",)
    label_reader: Callable[..., NDArray[np.int64]] | None = None

    def _paths(self, folder: Path, part: str) -> list[Path]:
        for inner in self.folders:
            paths = [folder / inner / name for name in self.files.get(part, ())]
            if paths and all(path.exists() for path in paths):
                return paths
        return []

    def where(self, folder: Path, part: str) -> Path | None:
        """The first file of a part; None if not all of its files are there."""
        paths = self._paths(folder, part)
        return paths[0] if paths else None

    def read(self, folder: Path, part: str) -> Arrays:
        """Read a part."""
        return self.reader(*self._paths(folder, part))

    def labels(self, folder: Path, part: str) -> NDArray[np.int64]:
        """Read the labels of a part."""
        if self.label_reader is None:
            return super().labels(folder, part)
        return self.label_reader(*self._paths(folder, part))


@dataclass(frozen=True)
class NpzLayout(Layout):
    """One .npz file with x_train, y_train, x_test, y_test, or one of the two pairs."""

    file: str

    @property
    def description(self) -> str:  # type: ignore[override]
        """How users see it."""
        return f"{self.file} with x_train, y_train, x_test, y_test"

    def where(self, folder: Path, part: str) -> Path | None:
        """The file, unless it has only the other part; one that is wrong is left to reading."""
        path = folder / self.file
        if not path.exists():
            return None
        try:
            names = npz_names(path)
        except DataError:
            return path
        other = next(p for p in PARTS if p != part)
        has_part = f"x_{part}" in names or f"y_{part}" in names
        return path if has_part or f"x_{other}" not in names else None

    def read(self, folder: Path, part: str) -> Arrays:
        """Read a part."""
        return read_npz(folder / self.file, part)


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

    def _layout(self, part: str) -> Layout | None:
        there = (layout for layout in self.accepted if layout.where(self.folder, part))
        return next(there, None)

    def where(self) -> Path | None:
        """The file the domain is read from; None if it is missing."""
        found = (layout.where(self.folder, part) for part in PARTS for layout in self.accepted)
        return next((path for path in found if path), None)

    def parts(self) -> tuple[str, ...]:
        """The parts that are there, of "train" and "test"."""
        return tuple(part for part in PARTS if self._layout(part))

    def layouts(self) -> tuple[str, ...]:
        """What is looked for."""
        return tuple(f"{self.folder}/{layout.description}" for layout in self.accepted)

    def counts(self) -> Counts:
        """Count the images of each digit in each part that is there."""
        counts = {}
        for part in PARTS:
            if layout := self._layout(part):
                labels = layout.labels(self.folder, part)
                counts[part] = tuple(np.bincount(labels, minlength=DIGITS).tolist())
        return counts

    def read(self, part: str) -> Arrays:
        """Read a part as it is published."""
        layout = self._layout(part)
        if layout is not None:
            return layout.read(self.folder, part)
        if self.where() is None:
            raise self.not_found()
        looked = " or ".join(self.layouts())
        raise DataError(f"domain {self.name!r} has no {part} images: looked for {looked}")

    def examine(self) -> Findings:
        """Read every part that is there."""
        counts: dict[str, tuple[int, ...]] = {}
        problems = []
        for part in self.parts():
            try:
                labels = self.read(part).labels
                counts[part] = tuple(np.bincount(labels, minlength=DIGITS).tolist())
            except DataError as error:
                problems.append(str(error))
        return Findings(counts, tuple(dict.fromkeys(problems)))

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
            own = slice(0, min(self.train_limit or count, count - last))
            chosen = own if split == "train" else slice(count - last, count)
        return Images.in_memory(
            channels_first(stored.images[chosen]),
            torch.from_numpy(stored.labels[chosen]),
            classes=DIGIT_NAMES,
            split=split,
            format=self.format,
        )
