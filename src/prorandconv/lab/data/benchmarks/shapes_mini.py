"""Scenes of drawn shapes in three styles: nothing to fetch, drawn when they are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from ..benchmark import Benchmark, Counts, Domain, Findings, Published
from ..folders import photo_format
from ..image_files import Options
from ..samples import ImageFormat
from ..scene_folders import ROBUSTNET_RECIPE
from ..scenes import InMemoryScenes
from ..splits import SPLITS, Split
from ..synthetic.shapes import CLASSES, STYLES, draw

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

    def examine(self) -> Findings:
        return Findings(self.counts())

    def load(self, split: Split) -> InMemoryScenes:
        random = np.random.default_rng([STYLES.index(self.name), SPLITS.index(split)])
        scenes = draw(SCENES[split], SIZE, self.name, random)
        return InMemoryScenes(
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
