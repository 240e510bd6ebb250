"""Pictures of several batches, and of a domain: rows of images, each with its name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from .data.images import Images

_GAP = 4
_NAME_WIDTH = 90
_LARGEST_TILE = 72


def picture_rows(rows: Sequence[tuple[str, Tensor]]) -> Image.Image:
    """Draw names and images; small images are shown at twice their size.

    Args:
        rows: a name and uint8 images ``(N, 3, S, S)`` each.
    """
    size = rows[0][1].shape[-1]
    tile = size * 2 if size * 2 <= _LARGEST_TILE else min(size, _LARGEST_TILE)
    step = tile + _GAP
    width = _NAME_WIDTH + max(len(batch) for _, batch in rows) * step
    picture = Image.new("RGB", (width, len(rows) * step + _GAP), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(16)
    way = Image.Resampling.NEAREST if tile > size else Image.Resampling.BOX
    for row, (name, batch) in enumerate(rows):
        height = row * step + _GAP
        draw.text((8, height + tile / 2), name, "black", font, "lm")
        for column, one in enumerate(batch.permute(0, 2, 3, 1).numpy()):
            shown = Image.fromarray(np.ascontiguousarray(one)).resize((tile, tile), way)
            picture.paste(shown, (_NAME_WIDTH + column * step, height))
    return picture


_SHEET_NAME_WIDTH = 120
_SHEET_LARGEST_TILE = 112


def contact_sheet(images: Images, *, per_class: int = 10) -> Image.Image:
    """Draw a row of images for each class.

    Args:
        images: what to choose from; of each class, images are taken at even distances.
        per_class: how many images of each class.
    """
    size = images.format.image_size
    tile = size * 2 if size * 2 <= _SHEET_LARGEST_TILE else min(size, _SHEET_LARGEST_TILE)
    step = tile + _GAP
    rows = len(images.classes)
    sheet = Image.new("RGB", (_SHEET_NAME_WIDTH + per_class * step, rows * step + _GAP), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(16)
    for row, name in enumerate(images.classes):
        draw.text((_GAP, row * step + tile / 2), name, fill="black", font=font, anchor="lm")
    chosen, places = _chosen(images, per_class)
    if len(chosen):
        (stored,) = images.stored([chosen])
        pixels = stored.expand(-1, 3, size, size).permute(0, 2, 3, 1).numpy()
        for picture, (row, column) in zip(pixels, places, strict=True):
            scaled = Image.fromarray(np.ascontiguousarray(picture)).resize((tile, tile))
            sheet.paste(scaled, (_SHEET_NAME_WIDTH + column * step, row * step + _GAP))
    return sheet


def _chosen(images: Images, per_class: int) -> tuple[torch.Tensor, list[tuple[int, int]]]:
    index: list[int] = []
    places: list[tuple[int, int]] = []
    for label in range(len(images.classes)):
        own = (images.labels == label).nonzero().squeeze(1)
        count = min(per_class, len(own))
        spread = torch.arange(count) * len(own) // max(count, 1)
        index += own[spread].tolist()
        places += [(label, column) for column in range(count)]
    return torch.tensor(index, dtype=torch.int64), places
