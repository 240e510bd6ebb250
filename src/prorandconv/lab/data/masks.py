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
from .decoding import UPRIGHT, Hash, oriented, read_image

UNLABELLED = 255
"""Marks pixels without a class."""


class MaskEncoding(ABC):
    """How classes are written into the files of a data set."""

    @abstractmethod
    def classes(self, values: NDArray[np.generic], path: Path) -> NDArray[np.uint8]:
        """The class of each pixel, or ``UNLABELLED``.

        Args:
            values: as stored, ``(H, W)`` or ``(channels, H, W)``.
            path: the file, for messages.
        """

    def stored(self, opened: ImageFile.ImageFile) -> NDArray[np.generic]:
        """The values of an opened file, ``(H, W)`` or ``(H, W, channels)``."""
        return np.array(opened)

    def read(self, path: Path, hashing: Hash | None = None, *, upright: bool = False) -> Tensor:
        """Read a mask: uint8 ``(H, W)``, a class or ``UNLABELLED`` for each pixel.

        Args:
            path: the file.
            hashing: takes in its bytes, and that it was turned.
            upright: turn it as its EXIF orientation says.

        Raises:
            DataError: the file is missing, damaged, or not written this way.
        """

        def convert(opened: ImageFile.ImageFile) -> tuple[NDArray[np.generic], bool]:
            def load() -> NDArray[np.generic]:
                values = self.stored(opened)
                return values if values.ndim == 2 else values.transpose(2, 0, 1)

            return oriented(opened, load, upright=upright)

        values, turned = read_image(path, convert, hashing)
        if turned and hashing is not None:
            hashing.update(UPRIGHT)
        return torch.from_numpy(self.classes(values, path))


@dataclass(frozen=True)
class LabelIds(MaskEncoding):
    """A number for each pixel, as grey or as positions in a palette.

    Attributes:
        count: how many classes there are.
        table: the class of each number; None: numbers are classes, and 255 is none.
    """

    count: int
    table: Mapping[int, int] | None = field(default=None, hash=False)

    def classes(self, values: NDArray[np.generic], path: Path) -> NDArray[np.uint8]:
        """Look up the class of each number."""
        if values.ndim != 2:
            raise DataError.at(
                path,
                "a colour picture where the number of a class is expected for each pixel",
                "save the mask as 8-bit grey, or with a palette",
            )
        if values.dtype.kind not in "biu":
            raise DataError.at(
                path, f"a mask of {values.dtype} numbers", "save it as 8-bit or 16-bit integers"
            )
        numbers = values.astype(np.int64)
        table = self.table
        if table is None:
            table = {number: number for number in range(self.count)} | {UNLABELLED: UNLABELLED}
        beyond = max(table) + 1
        lookup = np.full(beyond + 1, -1, dtype=np.int64)
        lookup[list(table)] = list(table.values())
        labels = lookup[np.where((numbers < 0) | (numbers > beyond), beyond, numbers)]
        if (unknown := numbers[labels < 0]).size:
            number = unknown[0]
            raise DataError.at(
                path,
                f"holds the label {number} in {np.count_nonzero(unknown == number):,} pixel(s), "
                f"which is not one of the {self.count} classes",
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

    def stored(self, opened: ImageFile.ImageFile) -> NDArray[np.generic]:
        """The colours."""
        return np.array(opened.convert("RGB"))

    def classes(self, values: NDArray[np.generic], path: Path) -> NDArray[np.uint8]:
        """Look up the class of each colour; a mask in which no colour is known raises an error."""
        red, green, blue = values.astype(np.int64)
        packed = red << 16 | green << 8 | blue
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

    def stored(self, opened: ImageFile.ImageFile) -> NDArray[np.generic]:
        """Of 16-bit channels the lower half, which holds numbers up to 255.

        Pillow has no 16-bit colour and keeps the upper half, the first byte as PNG stores it; if
        the bytes are declared to be in the other order, it keeps the second.
        """
        # A plain tuple is what older versions of Pillow have.
        opened.tile = [
            (*one[:3], "RGB;16L") if one[3] == "RGB;16B" else one  # type: ignore[misc]
            for one in opened.tile
        ]
        return np.array(opened)

    def classes(self, values: NDArray[np.generic], path: Path) -> NDArray[np.uint8]:
        """Look up the class of each number."""
        return self.labels.classes(values[0], path)


CITYSCAPES_CLASSES = (
    *("road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign"),
    *("vegetation", "terrain", "sky", "person", "rider", "car", "truck", "bus", "train"),
    *("motorcycle", "bicycle"),
)
"""In the order of the train ids."""

CITYSCAPES_COLOURS = (
    *((128, 64, 128), (244, 35, 232), (70, 70, 70), (102, 102, 156), (190, 153, 153)),
    *((153, 153, 153), (250, 170, 30), (220, 220, 0), (107, 142, 35), (152, 251, 152)),
    *((70, 130, 180), (220, 20, 60), (255, 0, 0), (0, 0, 142), (0, 0, 70)),
    *((0, 60, 100), (0, 80, 100), (0, 0, 230), (119, 11, 32)),
)
"""In the order of the train ids."""

_LABEL_IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)

CITYSCAPES_LABEL_IDS = dict.fromkeys(range(35), UNLABELLED) | {
    number: train_id for train_id, number in enumerate(_LABEL_IDS)
}
"""Cityscapes' label ids."""

SYNTHIA = dict.fromkeys(range(23), UNLABELLED) | {
    1: 10,
    2: 2,
    3: 0,
    4: 1,
    5: 4,
    6: 8,
    7: 5,
    8: 13,
    9: 7,
    10: 11,
    11: 18,
    12: 17,
    15: 6,
    16: 9,
    17: 12,
    18: 14,
    19: 15,
    20: 16,
    21: 3,
}
"""The numbers of SYNTHIA-RAND-CITYSCAPES."""

MAPILLARY = dict.fromkeys(range(66), UNLABELLED) | {
    13: 0,
    24: 0,
    41: 0,
    2: 1,
    15: 1,
    17: 2,
    6: 3,
    3: 4,
    45: 5,
    47: 5,
    48: 6,
    50: 7,
    30: 8,
    29: 9,
    27: 10,
    19: 11,
    20: 12,
    21: 12,
    22: 12,
    55: 13,
    61: 14,
    54: 15,
    58: 16,
    57: 17,
    52: 18,
}
"""The numbers of Mapillary Vistas 1.2; lane markings and manholes are road, curbs sidewalk."""
