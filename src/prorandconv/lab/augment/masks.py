"""One mask file in, as it is stored; and out again, with its labels where they were or moved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFile

from ...draw import Draw
from ...functional import warp_labels
from ..data.decoding import read_image
from ..errors import DataError
from .picture import orientation, refuse_several, target_size, turned_upright

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
        labels = torch.from_numpy(np.ascontiguousarray(self.values))
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
        refuse_several(opened, path)
        if opened.format in ("JPEG", "MPO"):
            raise DataError.at(path, "a JPEG, which changes labels", "export masks as PNG")
        if opened.mode not in MODES or (opened.mode == "RGB" and ";16" in str(opened.tile)):
            kind = "16-bit RGB" if opened.mode == "RGB" else opened.mode
            raise DataError.at(
                path,
                f"a mask of kind {kind!r}",
                "save it as grey of 8 or 16 bits, with a palette, or as 8-bit RGB",
            )
        turn, palette = orientation(opened), opened.getpalette("RGB")
        values = np.array(opened)
        values = values[None] if values.ndim == 2 else values.transpose(2, 0, 1)
        return Mask(turned_upright(values, turn), None if palette is None else bytes(palette))

    return read_image(path, stored)
