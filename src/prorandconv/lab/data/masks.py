"""One mask file in, the class of each pixel out, or a message that says what is wrong with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ImageFile
from torch import Tensor

from ..errors import DataError
from .decoding import read_image

UNLABELLED = 255
"""Marks pixels without a class."""


class MaskEncoding(ABC):
    """How classes are written into the files of a data set."""

    @abstractmethod
    def classes(self, values: NDArray[np.integer], path: Path) -> NDArray[np.uint8]:
        """The class of each pixel, or ``UNLABELLED``.

        Args:
            values: as stored, ``(H, W)`` or ``(H, W, channels)``.
            path: the file, for messages.
        """

    def read(self, path: Path) -> Tensor:
        """Read a mask: uint8 ``(H, W)``, a class or ``UNLABELLED`` for each pixel.

        Raises:
            DataError: the file is missing, damaged, or not written this way.
        """
        return torch.from_numpy(self.classes(read_image(path, np.array), path))


@dataclass(frozen=True)
class LabelIds(MaskEncoding):
    """A number for each pixel, as grey or as positions in a palette.

    Attributes:
        count: how many classes there are.
        table: the class of each number; None: numbers are classes, and 255 is none.
    """

    count: int
    table: Mapping[int, int] | None = field(default=None, hash=False)

    def classes(self, values: NDArray[np.integer], path: Path) -> NDArray[np.uint8]:
        """Look up the class of each number."""
        if values.ndim != 2:
            raise DataError.at(
                path,
                "a colour picture where the number of a class is expected for each pixel",
                "save the mask as 8-bit grey, or with a palette",
            )
        table = self.table
        if table is None:
            table = {number: number for number in range(self.count)} | {UNLABELLED: UNLABELLED}
        lookup = np.full(int(values.max(initial=0)) + 1, -1, dtype=np.int64)
        for number, found in table.items():
            if number < len(lookup):
                lookup[number] = found
        labels: NDArray[np.int64] = lookup[values]
        if (labels < 0).any():
            number = int(values[labels < 0][0])
            raise DataError.at(
                path,
                f"holds the label {number}, which is not one of the {self.count} classes",
                f"correct the mask, or the list of classes; {UNLABELLED} marks what has no class",
            )
        return labels.astype(np.uint8)


@dataclass(frozen=True)
class Colours(MaskEncoding):
    """A colour for each pixel, stored as such or through a palette.

    Attributes:
        colours: of each class, red, green and blue; other colours are no class.
    """

    colours: tuple[tuple[int, int, int], ...]

    def read(self, path: Path) -> Tensor:
        """Read a mask; see :meth:`MaskEncoding.read`."""
        pixels = read_image(path, lambda opened: np.array(opened.convert("RGB")))
        return torch.from_numpy(self.classes(pixels, path))

    def classes(self, values: NDArray[np.integer], path: Path) -> NDArray[np.uint8]:
        """Look up the class of each colour; refuses a mask in which no colour is known."""
        packed = values.astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
        labels = np.full(packed.shape, UNLABELLED, dtype=np.uint8)
        for number, (red, green, blue) in enumerate(self.colours):
            labels[packed == (red << 16 | green << 8 | blue)] = number
        if (labels == UNLABELLED).all() and packed.any():
            raise DataError.at(
                path,
                "has none of the colours that classes are drawn in",
                "it needs the colour of a class for each pixel",
            )
        return labels


@dataclass(frozen=True)
class FirstChannel(MaskEncoding):
    """Numbers in the first of several channels, of 8 or 16 bits; the others count instances.

    Attributes:
        labels: what the numbers mean.
    """

    labels: LabelIds

    def read(self, path: Path) -> Tensor:
        """Read a mask; see :meth:`MaskEncoding.read`."""
        return torch.from_numpy(self.classes(read_image(path, _low_bytes), path))

    def classes(self, values: NDArray[np.integer], path: Path) -> NDArray[np.uint8]:
        """Look up the class of each number."""
        return self.labels.classes(values[..., 0], path)


def _low_bytes(opened: ImageFile.ImageFile) -> NDArray[np.uint8]:
    """The pixels of an image, of 16-bit channels the lower half, which holds numbers up to 255.

    Pillow has no 16-bit colour and keeps the upper half, the first byte as PNG stores it; told that
    the bytes are in the other order, it keeps the second.
    """
    # A plain tuple is what older versions of Pillow have.
    opened.tile = [
        (*one[:3], "RGB;16L") if one[3] == "RGB;16B" else one  # type: ignore[misc]
        for one in opened.tile
    ]
    return np.array(opened)
