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

TEXT, TITLE = 22, 28
"""Height of letters in pixels, of which a screen shows half."""
GAP = 8
INK, PALE = "#1a1a1a", "#5c5c5c"


@dataclass(frozen=True)
class Row:
    """Pictures beside each other, all of one height."""

    name: str
    """what they have in common; may have several lines"""
    pictures: Sequence[Image.Image]
    captions: Sequence[str] = ()
    """one above each picture; none where they are those of the row above"""


@dataclass(frozen=True)
class Sheet:
    """Rows of pictures below a title, and below them the colours of classes, and notes."""

    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    classes: Sequence[str] = ()
    text: int = TEXT
    gap: int = GAP
    name_width: int = 0
    """least room for the names, in pixels"""

    def drawn(self, margin: str = "") -> Image.Image:
        """The sheet as one picture.

        Args:
            margin: a last line, such as the command that makes the sheet again.
        """
        gap, text, title = self.gap, _font(self.text), _font(TITLE)
        line_height = self.text + gap
        names = [line for row in self.rows for line in row.name.splitlines()]
        widest = max((int(text.getlength(line)) for line in names), default=-2 * gap)
        left = max(widest + 4 * gap, self.name_width)
        inner = max(sum(one.width + gap for one in row.pictures) for row in self.rows)
        width = max(left + inner, int(title.getlength(self.title)) + 3 * gap)
        width += gap if self.title else 0
        lines = [*self.notes, margin] if self.title else self.notes
        below = [line for note in lines for line in _wrapped(note, text, width - 4 * gap)]
        legend = _legend(self.classes, width)
        tall = max(one.height for row in self.rows for one in row.pictures) + gap
        heights = [tall + (line_height if row.captions else 0) for row in self.rows]
        top = TITLE + 5 * gap if self.title else gap
        height = top + sum(heights) + legend.height
        height += len(below) * line_height + 4 * gap if self.title else 0
        sheet = Image.new("RGB", (width, height), "white")
        pen = ImageDraw.Draw(sheet)
        pen.text((2 * gap, 2 * gap), self.title, INK, title)
        for row, own in zip(self.rows, heights, strict=True):
            x, y = left, top + own - tall
            middle = (2 * gap, y + (tall - gap) / 2)
            pen.multiline_text(middle, row.name, INK, text, "lm", spacing=gap)
            captions = row.captions or [""] * len(row.pictures)
            for picture, caption in zip(row.pictures, captions, strict=True):
                pen.text((x + picture.width / 2, top), caption, INK, text, "ma")
                sheet.paste(picture, (x, y))
                x += picture.width + gap
            top += own
        sheet.paste(legend, (0, top))
        for number, line in enumerate(below):
            pen.text((2 * gap, top + 2 * gap + number * line_height), line, PALE, text)
        return sheet


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


def _legend(classes: Sequence[str], width: int) -> Image.Image:
    """The colours of classes with their names, in as many lines as they need."""
    font = _font(13)
    places, left, row = [], 8, 0
    for name in classes:
        own = 36 + int(font.getlength(name))
        if left + own > width and left > 8:
            left, row = 8, row + 1
        places.append((left, row * 20))
        left += own
    legend = Image.new("RGB", (width, (row + 1) * 20 + 4 if classes else 0), "white")
    draw = ImageDraw.Draw(legend)
    for name, colour, (x, y) in zip(classes, colours_of(classes), places, strict=True):
        draw.rectangle((x, y + 3, x + 15, y + 16), colour)
        draw.text((x + 21, y + 10), name, INK, font, "lm")
    return legend


def _scaled(pixels: Tensor, height: int) -> Image.Image:
    """A picture uint8 ``(3, H, W)`` at another height."""
    image = Image.fromarray(np.ascontiguousarray(pixels.permute(1, 2, 0).numpy()))
    width = max(round(image.width * height / image.height), 1)
    way = Image.Resampling.BOX if height < image.height else Image.Resampling.NEAREST
    return image.resize((width, height), way)


def picture_rows(
    rows: Sequence[tuple[str, Tensor]], *, name_width: int = 90, largest_tile: int = 72
) -> Image.Image:
    """Draw names and images; small images are shown at twice their size.

    Args:
        rows: a name and uint8 images ``(N, 3, S, S)`` each.
        name_width: least room for the names, in pixels.
        largest_tile: side in pixels down to which larger images are reduced.
    """
    size = rows[0][1].shape[-1]
    tile = size * 2 if size * 2 <= largest_tile else min(size, largest_tile)
    drawn = [Row(name, [_scaled(image, tile) for image in batch]) for name, batch in rows]
    return Sheet("", drawn, text=16, gap=4, name_width=name_width).drawn()


def scene_rows(
    rows: Sequence[tuple[str, Sequence[Tensor]]], classes: Sequence[str], *, height: int = 120
) -> Image.Image:
    """Rows of pictures of any size, each with its name, above the colours of the classes.

    Args:
        rows: a name and uint8 pictures ``(3, H, W)`` each.
        classes: for the legend.
        height: of a picture, in pixels.
    """
    drawn = [Row(name, [_scaled(one, height) for one in pictures]) for name, pictures in rows]
    return Sheet("", drawn, classes=classes, text=14, gap=4).drawn()


def contact_sheet(images: Images, *, per_class: int = 10) -> Image.Image:
    """Draw a row of images for each class, at even distances among those that it has."""
    chosen = []
    for label in range(len(images.classes)):
        own = (images.labels == label).nonzero().squeeze(1)
        chosen.append(own[even(len(own), per_class)])
    pixels = images.stacked(torch.cat(chosen)).expand(-1, 3, -1, -1)
    batches = torch.split(pixels, [len(own) for own in chosen])
    rows = list(zip(images.classes, batches, strict=True))
    return picture_rows(rows, name_width=120, largest_tile=112)


def scene_sheet(scenes: Scenes, count: int) -> Image.Image:
    """Scenes at even distances in a set, a row each, with their classes beside and over them."""
    colours = colours_of(scenes.classes)
    positions = even(len(scenes), count)
    (fetched,) = scenes.fetch([torch.tensor(positions)])
    rows = []
    for position, scene in zip(positions, fetched, strict=True):
        pixels, labels = scene[:3], scene[3]
        shown = [pixels, coloured(labels, colours), overlaid(pixels, labels, colours)]
        rows.append((str(position), shown))
    return scene_rows(rows, scenes.classes)


def even(total: int, count: int) -> list[int]:
    """At most ``count`` of ``total`` positions, at even distances."""
    count = min(count, total)
    return [position * total // count for position in range(count)]


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
