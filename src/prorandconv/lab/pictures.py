"""Pictures of several batches, and of a domain: rows of images, each with its name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from .data.images import Images

_GAP = 4


def picture_rows(
    rows: Sequence[tuple[str, Tensor]],
    *,
    columns: int | None = None,
    name_width: int = 90,
    largest_tile: int = 72,
) -> Image.Image:
    """Draw names and images; small images are shown at twice their size.

    Args:
        rows: a name and uint8 images ``(N, 3, S, S)`` each.
        columns: for how many images there is room; for those of the longest row by default.
        name_width: room for the names, in pixels; more is taken where a name needs it.
        largest_tile: side in pixels down to which larger images are reduced.
    """
    size = rows[0][1].shape[-1]
    tile = size * 2 if size * 2 <= largest_tile else min(size, largest_tile)
    step = tile + _GAP
    font = ImageFont.load_default(16)
    left = max([name_width, *(int(font.getlength(name)) + 16 for name, _ in rows)])
    width = left + (columns or max(len(batch) for _, batch in rows)) * step
    picture = Image.new("RGB", (width, len(rows) * step + _GAP), "white")
    draw = ImageDraw.Draw(picture)
    way = Image.Resampling.NEAREST if tile > size else Image.Resampling.BOX
    for row, (name, batch) in enumerate(rows):
        height = row * step + _GAP
        draw.text((8, height + tile / 2), name, "black", font, "lm")
        for column, one in enumerate(batch.permute(0, 2, 3, 1).numpy()):
            shown = Image.fromarray(np.ascontiguousarray(one)).resize((tile, tile), way)
            picture.paste(shown, (left + column * step, height))
    return picture


def even(total: int, count: int) -> list[int]:
    """Up to so many of ``total`` positions, at even distances."""
    count = min(count, total)
    return [position * total // count for position in range(count)]


def contact_sheet(images: Images, *, per_class: int = 10) -> Image.Image:
    """Draw a row of images for each class.

    Args:
        images: what to choose from; of each class, images are taken at even distances.
        per_class: how many images of each class.
    """
    chosen = []
    for label in range(len(images.classes)):
        own = (images.labels == label).nonzero().squeeze(1)
        chosen.append(own[even(len(own), per_class)])
    size = images.format.image_size
    (stored,) = images.stored([torch.cat(chosen)])
    batches = torch.split(stored.expand(-1, 3, size, size), [len(own) for own in chosen])
    rows = list(zip(images.classes, batches, strict=True))
    return picture_rows(rows, columns=per_class, name_width=120, largest_tile=112)
