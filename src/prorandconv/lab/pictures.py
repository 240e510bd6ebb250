"""A picture of several batches: a row each, with its name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

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
