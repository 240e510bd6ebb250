"""Sheets of pictures: rows with names, scenes in colours, figures with captions."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from .data.augmentation import normalise
from .data.decoding import decode
from .data.images import Images
from .data.masks import CITYSCAPES_CLASSES, CITYSCAPES_COLOURS, UNLABELLED
from .data.scenes import Scenes

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
    stored = images.stacked(torch.cat(chosen))
    batches = torch.split(stored.expand(-1, 3, size, size), [len(own) for own in chosen])
    rows = list(zip(images.classes, batches, strict=True))
    return picture_rows(rows, columns=per_class, name_width=120, largest_tile=112)


_GAP = 4
GOLDEN = 0.618034
OTHER_NAMES = {"sign": "traffic sign", "vehicle": "car"}
"""Classes by other names than Cityscapes has for them."""

Colours = tuple[tuple[int, int, int], ...]


def colours_of(classes: Sequence[str]) -> Colours:
    """A colour for each class: that of Cityscapes where it has the class, else one of its own.

    Example:
        >>> colours_of(["road", "disc"])
        ((128, 64, 128), (230, 69, 80))
    """
    known = dict(zip(CITYSCAPES_CLASSES, CITYSCAPES_COLOURS, strict=True))
    found = []
    for number, name in enumerate(classes):
        hue = (0.37 + GOLDEN * number) % 1
        red, green, blue = colorsys.hsv_to_rgb(hue, 0.7, 0.9)
        own = (round(255 * red), round(255 * green), round(255 * blue))
        found.append(known.get(OTHER_NAMES.get(name, name), own))
    return tuple(found)


def coloured(labels: Tensor, colours: Colours) -> Tensor:
    """Labels as a picture; what has no class is black.

    Args:
        labels: uint8 ``(H, W)``, classes or ``UNLABELLED``.
        colours: of the classes.

    Returns:
        uint8 ``(3, H, W)``.
    """
    table = torch.zeros(UNLABELLED + 1, 3, dtype=torch.uint8)
    table[: len(colours)] = torch.tensor(colours, dtype=torch.uint8)
    return table[labels.long()].permute(2, 0, 1)


def overlaid(pixels: Tensor, labels: Tensor, colours: Colours, share: float = 0.55) -> Tensor:
    """A picture with the colours of its classes laid over it.

    Args:
        pixels: uint8 ``(1 or 3, H, W)``.
        labels: uint8 ``(H, W)``.
        colours: of the classes.
        share: of the colours in the result.
    """
    mixed = pixels.float() * (1 - share) + coloured(labels, colours).float() * share
    return mixed.round().to(torch.uint8)


def palette_image(labels: Tensor, colours: Colours) -> Image.Image:
    """Labels as an image whose pixels are the numbers of classes, shown in their colours."""
    image = Image.fromarray(labels.numpy().astype(np.uint8)).convert("P")
    image.frombytes(labels.numpy().astype(np.uint8).tobytes())
    image.putpalette([value for colour in colours for value in colour])
    return image


def scene_rows(
    rows: Sequence[tuple[str, Sequence[Tensor]]], classes: Sequence[str], *, height: int = 120
) -> Image.Image:
    """Rows of pictures of any size, each with its name, above the colours of the classes.

    Args:
        rows: a name and uint8 pictures ``(3, H, W)`` each.
        classes: for the legend.
        height: of a picture.
    """
    font = ImageFont.load_default(14)
    left = max(int(font.getlength(name)) for name, _ in rows) + 16
    shown = [[_reduced(one, height) for one in pictures] for _, pictures in rows]
    width = left + max(sum(one.width + _GAP for one in own) for own in shown)
    legend = _legend(classes, width)
    sheet = Image.new("RGB", (width, len(rows) * (height + _GAP) + _GAP + legend.height), "white")
    draw = ImageDraw.Draw(sheet)
    for number, ((name, _), own) in enumerate(zip(rows, shown, strict=True)):
        top, place = _GAP + number * (height + _GAP), left
        draw.text((8, top + height / 2), name, "black", font, "lm")
        for one in own:
            sheet.paste(one, (place, top))
            place += one.width + _GAP
    sheet.paste(legend, (0, sheet.height - legend.height))
    return sheet


def scene_sheet(scenes: Scenes, count: int) -> Image.Image:
    """Scenes at even distances in a set, with their classes beside and over them."""
    colours = colours_of(scenes.classes)
    rows, positions = [], even(len(scenes), count)
    (fetched,) = scenes.fetch([torch.tensor(positions)])
    for position, scene in zip(positions, fetched, strict=True):
        pixels, labels = scene[:3], scene[3]
        shown = [pixels, coloured(labels, colours), overlaid(pixels, labels, colours)]
        rows.append((str(position), shown))
    return scene_rows(rows, scenes.classes)


def _reduced(pixels: Tensor, height: int) -> Image.Image:
    image = Image.fromarray(np.ascontiguousarray(pixels.permute(1, 2, 0).numpy()))
    width = max(round(image.width * height / image.height), 1)
    way = Image.Resampling.BOX if height < image.height else Image.Resampling.NEAREST
    return image.resize((width, height), way)


def _legend(classes: Sequence[str], width: int) -> Image.Image:
    font = ImageFont.load_default(13)
    places, left, row = [], 8, 0
    for name in classes:
        own = 22 + int(font.getlength(name)) + 14
        if left + own > width and left > 8:
            left, row = 8, row + 1
        places.append((left, row))
        left += own
    legend = Image.new("RGB", (width, (row + 1) * 20 + _GAP), "white")
    draw = ImageDraw.Draw(legend)
    for name, colour, (x, line) in zip(classes, colours_of(classes), places, strict=True):
        draw.rectangle((x, line * 20 + 3, x + 15, line * 20 + 16), colour)
        draw.text((x + 21, line * 20 + 10), name, "black", font, "lm")
    return legend


TEXT, TITLE = 22, 28
"""Height of letters in pixels, of which a screen shows half."""
GAP = 8
INK, PALE = "#1a1a1a", "#5c5c5c"


@dataclass(frozen=True)
class Row:
    """Pictures beside each other, all of one size."""

    name: str
    """what they have in common; may have several lines"""
    pictures: Sequence[Image.Image]
    captions: Sequence[str] = ()
    """one above each picture; none where they are those of the row above"""


@dataclass(frozen=True)
class Sheet:
    """Rows of pictures below a title, and notes below them."""

    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def drawn(self, margin: str) -> Image.Image:
        """The sheet as one picture.

        Args:
            margin: a last line, such as the command that makes the sheet again.
        """
        text, title = _font(TEXT), _font(TITLE)
        names = [line for row in self.rows for line in row.name.splitlines()]
        widest = max((int(text.getlength(line)) for line in names), default=-2 * GAP)
        left = widest + 4 * GAP
        inner = max(sum(one.width + GAP for one in row.pictures) for row in self.rows)
        width = max(left + inner + GAP, int(title.getlength(self.title)) + 4 * GAP)
        below = [
            line for note in (*self.notes, margin) for line in _wrapped(note, text, width - 4 * GAP)
        ]
        heights = [_height(row) for row in self.rows]
        top = TITLE + 5 * GAP
        height = top + sum(heights) + len(below) * (TEXT + GAP) + 4 * GAP
        sheet = Image.new("RGB", (width, height), "white")
        pen = ImageDraw.Draw(sheet)
        pen.text((2 * GAP, 2 * GAP), self.title, INK, title)
        for row, tall in zip(self.rows, heights, strict=True):
            _draw_row(sheet, pen, row, left, top)
            top += tall
        for number, line in enumerate(below):
            place = (2 * GAP, top + 2 * GAP + number * (TEXT + GAP))
            pen.text(place, line, PALE, text)
        return sheet


def _draw_row(sheet: Image.Image, pen: ImageDraw.ImageDraw, row: Row, left: int, top: int) -> None:
    text = _font(TEXT)
    x, y = left, top + (TEXT + GAP if row.captions else 0)
    middle = y + row.pictures[0].height / 2
    pen.multiline_text((2 * GAP, middle), row.name, INK, text, "lm", spacing=GAP)
    captions = row.captions or [""] * len(row.pictures)
    for picture, caption in zip(row.pictures, captions, strict=True):
        pen.text((x + picture.width / 2, top), caption, INK, text, "ma")
        sheet.paste(picture, (x, y))
        x += picture.width + GAP


def _height(row: Row) -> int:
    return row.pictures[0].height + GAP + (TEXT + GAP if row.captions else 0)


def _wrapped(line: str, font: ImageFont.FreeTypeFont, width: int) -> list[str]:
    """A line in as many as it needs."""
    lines = [""]
    for word in line.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _font(size: int) -> ImageFont.FreeTypeFont:
    """A font that has the paper's Greek letters, which Pillow's own has not."""
    import matplotlib  # only here: most sheets do without

    return ImageFont.truetype(
        Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size
    )


def read_picture(path: Path, size: int) -> Tensor:
    """The middle square of an image file, ``(3, size, size)`` in [-1, 1].

    Args:
        path: of the file.
        size: side of the result in pixels.
    """
    pixels = decode(path).pixels
    side = min(pixels.shape[-2:])
    square = tvf.resize(tvf.center_crop(pixels, [side, side]), [size, size], antialias=True)
    return normalise(square[None], (0.5,) * 3, (0.5,) * 3)[0]


def shown(image: Tensor) -> Image.Image:
    """A normalised image ``(3, H, W)`` as pixels; what is outside [-1, 1] is cut off."""
    pixels = image.add(1).mul(127.5).round().clamp(0, 255).byte()
    return Image.fromarray(pixels.permute(1, 2, 0).contiguous().numpy())
