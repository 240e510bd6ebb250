"""Images of the source, and what a method makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from ..data import Options, Samples, get_benchmark
from ..data.scenes import Scenes
from ..methods.augmenting import to_pixels
from ..run.config import RunConfig
from ..run.predict import segmented
from ..run.trained import load_trained
from ..sheets import coloured, colours_of, even, picture_rows, scene_rows
from .read import ReportedRun

IMAGES, DRAWS = 10, 4
TRIES = 40


def sample_sheet(config: RunConfig) -> Image.Image | None:
    """Images as they are, and each row of them under a draw; None if the method changes nothing.

    The draws are new ones, from the run's own options, mapped back to pixels.

    Args:
        config: of the run; an absent source raises :class:`~prorandconv.lab.errors.DataError`.
    """
    images = _source(config.benchmark, config.source[0], config.data_root, config.image_size)
    x = images.examples(IMAGES)
    augment = config.options.augmentation(images.format)
    if augment is None:
        return None
    generator = torch.Generator().manual_seed(config.seed)
    views = (augment(x, generator) for _ in range(TRIES))
    drawn = list(islice((view for view in views if not torch.equal(view, x)), DRAWS))
    if not drawn:
        return None
    rows = [("original", x), *((f"draw {n}", view) for n, view in enumerate(drawn, 1))]
    return picture_rows([(name, to_pixels(batch, images.format)) for name, batch in rows])


@lru_cache(maxsize=1)
def _source(benchmark: str, source: str, data_root: Path | None, image_size: int | None) -> Samples:
    options = Options(image_size=image_size)
    return get_benchmark(benchmark, data_root, options).load(source, "train")


SCENES = 4


def prediction_sheet(
    runs: Mapping[str, ReportedRun], target: str, data_root: Path | None, *, scenes: bool = True
) -> Image.Image:
    """Scenes at even distances in the target, the same for all runs.

    Args:
        runs: a finished run that segments, by row.
        target: the domain.
        data_root: the folder of data sets, if it is not where the runs had it.
        scenes: show the scenes and their true classes too, which are part of the data set.
    """
    rows: list[tuple[str, list[Tensor]]] = []
    stored: list[Tensor] = []
    for row, run in runs.items():
        trained = load_trained(run.path, data_root=data_root, accelerator="cpu")
        colours = colours_of(trained.classes)
        if not stored:
            split = trained.benchmark.load(target, "test")
            assert isinstance(split, Scenes)
            (stored,) = map(list, split.fetch([torch.tensor(even(len(split), SCENES))]))
            classes = trained.classes
            if scenes:
                rows.append(("scene", [scene[:3] for scene in stored]))
                rows.append(("truth", [coloured(scene[3], colours) for scene in stored]))
        found = [segmented(trained, scene[:3]) for scene in stored]
        rows.append((row, [coloured(labels, colours) for labels in found]))
    return scene_rows(rows, classes)
