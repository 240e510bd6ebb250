"""A sheet of pictures in rows, with names and captions, at twice the pixels it is shown at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

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
    return ImageFont.truetype(
        Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size
    )
