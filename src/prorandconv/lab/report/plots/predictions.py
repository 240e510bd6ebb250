"""Scenes of a target, their classes, and what each method takes them for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PIL import Image
from torch import Tensor

from ...data.scenes import Scenes
from ...pictures import even
from ...run.predict import segmented
from ...run.trained import load_trained
from ...scene_pictures import coloured, colours_of, scene_rows
from ..read import ReportedRun

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
        colours, form = colours_of(trained.classes), trained.config.format
        if not stored:
            split = trained.benchmark.load(target, "test")
            assert isinstance(split, Scenes)
            stored = list(split.stored(even(len(split), SCENES)))
            classes = trained.classes
            if scenes:
                rows.append(("scene", [scene[:3] for scene in stored]))
                rows.append(("truth", [coloured(scene[3], colours) for scene in stored]))
        found = [
            segmented(trained.network, scene[:3], form, precision=trained.config.precision)
            for scene in stored
        ]
        rows.append((row, [coloured(labels, colours) for labels in found]))
    return scene_rows(rows, classes)
