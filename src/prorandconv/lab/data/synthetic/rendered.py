"""Digits set in many typefaces, the way SYN was made: size, turn, colour, clutter and blur vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from ...errors import DataError
from ...files import replacing
from ...progress import progress
from ..folders import folder_of

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
        turn: largest rotation in degrees.
        blur: largest radius of the blur, in pixels of the canvas.
        contrast: least difference of brightness between digit and background.
    """

    neighbours: float
    photos: Sequence[Pixels] = ()
    turn: int = 20
    blur: float = 2.5
    contrast: int = 70


def render(
    labels: Sequence[int], typefaces: Sequence[Path], style: Style, random: np.random.Generator
) -> Pixels:
    """Render one image for each label.

    Args:
        labels: the digits in the middle of the images.
        typefaces: font files.
        style: what the images look like.
        random: source of all variation.

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
    turn = float(random.uniform(-style.turn, style.turn))
    mask = mask.rotate(turn, Image.Resampling.BICUBIC)
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
    """A plain ground with a few ellipses, bars and strokes in near colours."""
    ground = random.integers(0, 256, 3)
    image = Image.new("RGB", (CANVAS, CANVAS), _rgb(ground))
    draw = ImageDraw.Draw(image)
    for _ in range(random.integers(2, 8)):
        colour = _rgb(np.clip(ground + random.integers(-60, 61, 3), 0, 255))
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
    """A random colour that is clearly brighter or darker than the ground."""
    while True:
        colour = random.integers(0, 256, 3)
        own = float(colour @ (299, 587, 114)) / 1000
        if abs(own - brightness) >= contrast:
            return _rgb(colour)


def _rgb(values: NDArray[np.int64]) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in values)
    return red, green, blue


def fonts_of_machine() -> list[Path]:
    """Font files found on this machine that have all digits and letters, by name.

    Symbol fonts put pictures where digits belong; they lack the letters.
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
            folder, f"lacks {', '.join(missing)}", "install matplotlib from its wheel"
        )
    return [folder / name for name in EMBEDDED]


SYN_TEST_IMAGES = 9_553


def make_syn(
    root: Path, *, train_images: int = 25_000, test_images: int = SYN_TEST_IMAGES, seed: int = 0
) -> Path:
    """Render digits like SYN's with the fonts found on this machine.

    Args:
        root: the folder of data sets.
        train_images: how many for training (SYN has 479,400).
        test_images: how many for testing (SYN has 9,553).
        seed: of all variation.

    Returns:
        The file written: ``digits/syn_rendered.npz``.
    """
    if train_images < 0 or test_images < 1:
        raise DataError.about(
            "train_images, test_images", (train_images, test_images), "from 0, and from 1"
        )
    typefaces = fonts_of_machine()
    random = np.random.default_rng(seed)
    arrays: dict[str, NDArray[Any]] = {}
    for part, count in (("test", test_images), ("train", train_images)):
        if count:
            labels = np.arange(count, dtype=np.int64) % 10
            random.shuffle(labels)
            arrays[f"y_{part}"] = labels
            arrays[f"x_{part}"] = render(labels.tolist(), typefaces, Style(neighbours=0.4), random)
    return _written(root, "syn_rendered", arrays)


def _written(root: Path, name: str, arrays: dict[str, NDArray[Any]]) -> Path:
    path = folder_of(root, "digits") / f"{name}.npz"
    with replacing(path) as temporary:
        np.savez(temporary, **arrays)  # type: ignore[arg-type]
    return path
