"""Scenes of drawn shapes in three styles: nothing to fetch, drawn when they are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ..benchmark import Benchmark, CheckReport, Counts, Domain, Published
from ..folders import photo_format
from ..samples import ImageFormat
from ..scene_folders import ROBUSTNET_RECIPE
from ..scenes import Scenes
from ..splits import SPLITS, Split
from ..stores import Options

Pixels = NDArray[np.uint8]

CLASSES = ("background", "disc", "square", "triangle")
STYLES = ("plain", "textured", "inverted")


def draw(count: int, size: int, style: str, random: np.random.Generator) -> Pixels:
    """Draw scenes.

    The shapes are of the same kinds in all styles; their colours and surfaces are not. Plain ones
    are bright and of one colour before a dark background, inverted ones the other way round,
    textured ones are striped and noisy, before another pattern.

    Args:
        count: how many scenes.
        size: side in pixels.
        style: one of ``STYLES``.
        random: where everything random comes from.

    Returns:
        uint8 ``(count, 4, size, size)``: red, green, blue, and the class of each pixel.
    """
    return np.stack([_scene(size, style, random) for _ in range(count)])


def _scene(size: int, style: str, random: np.random.Generator) -> Pixels:
    y, x = np.mgrid[:size, :size].astype(np.float64)
    classes = np.zeros((size, size), dtype=np.uint8)
    picture = _surface(size, style, 0, random)
    for _ in range(int(random.integers(2, 5))):
        kind = int(random.integers(1, len(CLASSES)))
        radius = random.uniform(size / 10, size / 4)
        v, u = (y - random.uniform(0, size)) / radius, (x - random.uniform(0, size)) / radius
        if kind == 1:
            inside = u**2 + v**2 <= 1
        elif kind == 2:
            inside = np.maximum(abs(u), abs(v)) <= 0.85
        else:
            inside = (v <= 0.7) & (v >= 2 * abs(u) - 1)
        picture[:, inside] = _surface(size, style, kind, random)[:, inside]
        classes[inside] = kind
    pixels = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    return np.concatenate([pixels, classes[None]])


def _surface(size: int, style: str, kind: int, random: np.random.Generator) -> NDArray[np.float64]:
    """A background (kind 0), or what a shape is filled with."""
    low, high = (0.0, 0.3) if kind == 0 else (0.55, 1.0)
    surface: NDArray[np.float64] = np.ones((3, size, size)) * random.uniform(low, high, (3, 1, 1))
    if style == "inverted":
        surface = 1 - surface
    elif style == "textured":
        y, x = np.mgrid[:size, :size]
        angle, wave = random.uniform(0, np.pi), random.uniform(3, 8)
        stripes = np.sin((x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / wave)
        surface = 0.5 + 0.6 * (surface - 0.5) + 0.2 * stripes
        surface += random.normal(0, 0.05, surface.shape)
    return surface


SIZE = 64
SCENES = {"train": 200, "val": 40, "test": 60}

RECIPE = replace(
    ROBUSTNET_RECIPE, image_size=SIZE, epochs=20, epochs_multi_source=20, pretrained=False
)

PUBLISHED: Published = {style: dict(SCENES) for style in STYLES}

SOURCES = """\
shapes-mini   nothing to fetch: drawn when it is loaded"""


@dataclass(frozen=True)
class _DrawnDomain(Domain):
    name: str
    format: ImageFormat

    def where(self) -> Path:
        return Path(__file__)

    def parts(self) -> tuple[str, ...]:
        return tuple(SCENES)

    def layouts(self) -> tuple[str, ...]:
        return ("nothing: it is drawn",)

    def counts(self) -> Counts:
        return {part: (count,) for part, count in SCENES.items()}

    def verify(self) -> CheckReport:
        return CheckReport(self.name, self.where(), self.counts())

    def load(self, split: Split) -> Scenes:
        random = np.random.default_rng([STYLES.index(self.name), SPLITS.index(split)])
        scenes = draw(SCENES[split], SIZE, self.name, random)
        return Scenes.in_memory(
            torch.from_numpy(scenes), classes=CLASSES, split=split, format=self.format
        )


def shapes_mini(root: Path, options: Options) -> Benchmark:
    """Three classes of shapes: trained on plain ones, tested on textured and inverted ones."""
    form = photo_format(RECIPE, options)
    return Benchmark(
        name="shapes-mini",
        classes=CLASSES,
        format=form,
        network="deeplabv3plus-resnet18",
        recipe=RECIPE,
        members={style: _DrawnDomain(style, form) for style in STYLES},
        published=PUBLISHED,
        sources=SOURCES,
        task="segmentation",
    )
