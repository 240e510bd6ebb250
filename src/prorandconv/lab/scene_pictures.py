"""Scenes with their classes in colours: masks, overlays, and rows of them."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from .data.cityscapes_labels import CITYSCAPES_CLASSES, CITYSCAPES_COLOURS
from .data.masks import UNLABELLED
from .data.scenes import Scenes
from .pictures import even

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
    """Scenes at even distances in a set, with their classes beside and over them.

    Args:
        scenes: the set.
        count: how many scenes, a row each.
    """
    colours = colours_of(scenes.classes)
    rows, positions = [], even(len(scenes), count)
    for position, scene in zip(positions, scenes.stored(positions), strict=True):
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
