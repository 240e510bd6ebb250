"""Digits that are made: in many typefaces, as SYN, and blended into photos, as MNIST-M."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from ..errors import DataError
from ..progress import progress
from .decoding import decode, list_images

Pixels = NDArray[np.uint8]

SIZE = 32
CANVAS = 2 * SIZE
"""Drawn at twice the size and reduced, so that edges are soft."""


@dataclass(frozen=True)
class Style:
    """What rendered images look like.

    Attributes:
        neighbours: chance, on each side of the digit, of another digit.
        photos: backgrounds are crops of these; without any they are random shapes.
        rotation: largest rotation in degrees.
        blur: largest radius of the blur, in pixels of the canvas.
        contrast: least difference of brightness between digit and background.
    """

    neighbours: float
    photos: Sequence[Pixels] = ()
    rotation: int = 20
    blur: float = 2.5
    contrast: int = 70


def render(
    labels: Sequence[int], typefaces: Sequence[Path], style: Style, random: np.random.Generator
) -> Pixels:
    """Render one image for each label.

    Returns:
        ``(N, 32, 32, 3)``.
    """
    images = np.empty((len(labels), SIZE, SIZE, 3), np.uint8)
    with progress("rendering digits", len(labels), unit="images") as advance:
        for label, result in zip(labels, images, strict=True):
            result[:] = _image(int(label), typefaces, style, random)
            advance(1)
    return images


def _image(
    label: int, typefaces: Sequence[Path], style: Style, random: np.random.Generator
) -> Pixels:
    back = _photo(style.photos, random) if style.photos else _clutter(random)
    mask = _number(label, typefaces[int(random.integers(len(typefaces)))], style.neighbours, random)
    # Brightness is judged under the digit itself: elsewhere the background may do as it likes.
    under = float(np.average(np.asarray(back.convert("L")), weights=np.asarray(mask) + 1e-3))
    colour = _distinct_colour(under, style.contrast, random)
    angle = float(random.uniform(-style.rotation, style.rotation))
    mask = mask.rotate(angle, Image.Resampling.BICUBIC)
    back.paste(Image.new("RGB", back.size, colour), mask=mask)
    back = back.filter(ImageFilter.GaussianBlur(float(random.uniform(0, style.blur))))
    small = np.asarray(back.reduce(CANVAS // SIZE)).astype(np.int16)
    grain = random.integers(-6, 7, small.shape)
    image: Pixels = np.clip(small + grain, 0, 255).astype(np.uint8)
    return image


def _number(
    label: int, typeface: Path, neighbours: float, random: np.random.Generator
) -> Image.Image:
    """The digit in the middle, slightly off, and perhaps one to its left and right."""
    # The basic layout engine is part of every Pillow; the other one depends on the system.
    font = ImageFont.truetype(
        str(typeface), int(random.integers(44, 64)), layout_engine=ImageFont.Layout.BASIC
    )
    mask = Image.new("L", (CANVAS, CANVAS))
    centre = CANVAS / 2 + random.integers(-4, 5, 2)
    width = _glyph(mask, str(label), font, float(centre[0]), float(centre[1]))
    gap = int(random.integers(1, 6))
    for side in (-1, 1):
        if random.uniform() < neighbours:
            other = str(random.integers(10))
            left, _, right, _ = font.getbbox(other)
            away = side * (width / 2 + gap + (right - left) / 2)
            _glyph(mask, other, font, float(centre[0]) + away, float(centre[1]))
    return mask


def _glyph(mask: Image.Image, text: str, font: ImageFont.FreeTypeFont, x: float, y: float) -> float:
    """Draw a digit with its middle at (x, y); returns its width."""
    left, top, right, bottom = font.getbbox(text)
    corner = (round(x - (left + right) / 2), round(y - (top + bottom) / 2))
    layer = Image.new("L", mask.size)
    ImageDraw.Draw(layer).text(corner, text, fill=255, font=font)
    mask.paste(ImageChops.lighter(mask, layer))
    return right - left


def _clutter(random: np.random.Generator) -> Image.Image:
    """A plain background with a few ellipses, bars and strokes in near colours."""
    background = random.integers(0, 256, 3)
    image = Image.new("RGB", (CANVAS, CANVAS), _rgb(background))
    draw = ImageDraw.Draw(image)
    for _ in range(random.integers(2, 8)):
        colour = _rgb(np.clip(background + random.integers(-60, 61, 3), 0, 255))
        x, y = (int(value) for value in random.integers(-16, CANVAS, 2))
        wide, tall = (int(value) for value in random.integers(6, CANVAS, 2))
        kind = random.integers(3)
        if kind == 0:
            draw.ellipse((x, y, x + wide, y + tall), fill=colour)
        elif kind == 1:
            draw.rectangle((x, y, x + wide, y + tall // 3), fill=colour)
        else:
            ends = (x, y, CANVAS - y, CANVAS - x)
            draw.line(ends, fill=colour, width=int(random.integers(1, 7)))
    return image


def _photo(photos: Sequence[Pixels], random: np.random.Generator) -> Image.Image:
    """A square cut from a photo."""
    photo = photos[int(random.integers(len(photos)))]
    side = int(random.integers(CANVAS // 2, min(*photo.shape[:2], 4 * CANVAS)))
    top = random.integers(photo.shape[0] - side + 1)
    left = random.integers(photo.shape[1] - side + 1)
    crop = Image.fromarray(photo[top : top + side, left : left + side])
    return crop.resize((CANVAS, CANVAS), Image.Resampling.BILINEAR)


def _distinct_colour(
    brightness: float, contrast: int, random: np.random.Generator
) -> tuple[int, int, int]:
    """A random colour that is clearly brighter or darker than the background."""
    while True:
        colour = random.integers(0, 256, 3)
        luma = float(colour @ (299, 587, 114)) / 1000
        if abs(luma - brightness) >= contrast:
            return _rgb(colour)


def _rgb(values: NDArray[np.int64]) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in values)
    return red, green, blue


def fonts_of_machine() -> list[Path]:
    """Font files found on this machine that have all digits and letters, by name.

    Symbol fonts have pictures in place of digits, and no letters.
    """
    from fontTools.ttLib import TTFont, TTLibError
    from matplotlib.font_manager import findSystemFonts

    needed = set(map(ord, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    fonts = {}
    for name in findSystemFonts():
        path = Path(name)
        if path.suffix.casefold() not in {".ttf", ".otf"}:
            continue
        try:
            with TTFont(path, lazy=True) as font:
                if needed <= set(font.getBestCmap() or ()):
                    fonts[path.name] = path
        except (TTLibError, OSError, KeyError, AssertionError):
            continue
    return [fonts[name] for name in sorted(fonts)] or embedded_typefaces()


EMBEDDED = tuple(
    f"{name}.ttf"
    for name in (
        *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique"),
        *("DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSansMono-Oblique"),
        *("DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSerif-Italic", "DejaVuSerif-BoldItalic"),
        *("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"),
        *("cmr10", "cmb10", "cmss10", "cmtt10", "cmti10"),
    )
)
"""Typefaces with digits that come in matplotlib's wheel."""


def embedded_typefaces() -> list[Path]:
    """Font files that come with matplotlib."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    if missing := [name for name in EMBEDDED if not (folder / name).exists()]:
        raise DataError.at(
            folder, f"{', '.join(missing)} missing", "install matplotlib from its wheel"
        )
    return [folder / name for name in EMBEDDED]


def blend(digits: Pixels, photos: Sequence[Pixels], random: np.random.Generator) -> Pixels:
    """Invert random crops of photos where the digits are.

    Args:
        digits: ``(N, H, W)``, bright on dark.
        photos: ``(height, width, 3)`` each, at least as large as a digit.
        random: chooses photo and crop.

    Returns:
        ``(N, H, W, 3)``: abs(crop - digit).
    """
    count, height, width = digits.shape
    blended = np.empty((count, height, width, 3), np.uint8)
    for digit, result in zip(digits, blended, strict=True):
        photo = photos[int(random.integers(len(photos)))]
        top = random.integers(photo.shape[0] - height + 1)
        left = random.integers(photo.shape[1] - width + 1)
        crop = photo[top : top + height, left : left + width].astype(np.int16)
        result[:] = np.abs(crop - digit[..., None])
    return blended


def read_photos(folder: Path, *, at_least: int) -> list[Pixels]:
    """All photos in a folder and those below, in order of their paths: BSDS500 as it comes.

    Args:
        folder: where to look.
        at_least: side that a photo must have to be of use; smaller ones are left out.
    """
    if not folder.is_dir():
        raise DataError.at(folder, "no such folder", "expected photos, such as BSDS500's images")
    paths = list_images(folder)
    photos = []
    with progress("reading photos", len(paths), unit="photos") as advance:
        for path in paths:
            pixels = decode(path).pixels
            if pixels.shape[0] == 3 and min(pixels.shape[1:]) >= at_least:
                photos.append(np.ascontiguousarray(pixels.permute(1, 2, 0).numpy()))
            advance(1)
    if not photos:
        raise DataError.at(
            folder,
            f"no colour photo of {at_least} × {at_least} pixels or more among {len(paths)} images",
            "name a folder of photos, such as BSDS500/data/images",
        )
    return photos
