"""How accuracy on USPS depends on how its digits are drawn into the frame.

The paper's figures for USPS are out of reach of any method here; this shows how much of that may
be another edition of the data set, whose digits do not fill the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ProRandConvError
from ..data import Images
from ..data.arrays import ArrayDomain, channels_first
from ..data.augmentation import resize
from ..paper import rows_of
from ..progress import progress
from ..run.directory import RESULT
from ..run.trained import load_trained
from .scenario import Scenario, Scenarios
from .settings import Settings
from .table import Cell, Table

METHODS = ("erm", "pro-randconv")
BOXES = (32, 30, 28, 26, 24, 22)
CONTRAST = 0.3


def boxed(pixels: Tensor, frame: int, box: int) -> Tensor:
    """Draw digits into a box in the middle of a black frame.

    Args:
        pixels: uint8 ``(N, C, H, W)``.
        frame: side of the result.
        box: side of the box.
    """
    before = (frame - box) // 2
    after = frame - box - before
    return F.pad(resize(pixels, box), (before, after, before, after))


def eroded(pixels: Tensor) -> Tensor:
    """Thinner strokes: each pixel is the darkest of the four around its corner."""
    return 255 - F.max_pool2d(F.pad(255 - pixels.float(), (0, 1, 0, 1)), 2, 1).to(pixels.dtype)


def faint(pixels: Tensor) -> Tensor:
    """Less contrast, on the same black."""
    return (pixels * CONTRAST).to(pixels.dtype)


Drawn = Callable[[Tensor, int], Tensor]

DRAWN: dict[str, Drawn] = {
    **{str(box): partial(boxed, box=box) for box in BOXES},
    "28, eroded": lambda x, frame: eroded(boxed(x, frame, 28)),
    f"24, contrast {CONTRAST}": lambda x, frame: faint(boxed(x, frame, 24)),
}
"""Ways to draw the digits into a frame, by what tables call them: the side of the box first."""


def measure(settings: Settings, runs: Path, accelerator: str) -> tuple[Table, ...]:
    """The test images, drawn into smaller boxes, to the networks of the runs that are done."""
    scenario = Scenarios.of(settings, "digits").usable[0]
    rows = [row for row in rows_of("Table 1") if row.method in METHODS]
    seeds, target = settings.all_seeds, scenario.target("usps")
    images = {name: _images(scenario, target, drawn) for name, drawn in DRAWN.items()}
    found: dict[tuple[str, str], list[float | None]] = {
        (row.name, name): [] for row in rows for name in DRAWN
    }
    with progress("measuring", len(rows) * len(seeds), unit="networks") as advance:
        for row in rows:
            for seed in seeds:
                config = replace(scenario.config(row, scenario.sources[0]), seed=seed)
                own = _accuracies(config.directory(runs), images, accelerator)
                for name in DRAWN:
                    found[row.name, name].append(own.get(name))
                advance(1)
    table = Table(
        "usps-drawn",
        f"The same test images of {target}, drawn into a box within the frame of "
        f"{scenario.benchmark.image_size} pixels, by the side of the box",
        "",
        tuple(row.name for row in rows),
        tuple(DRAWN),
        seeds,
        {place: Cell(tuple(values)) for place, values in found.items()},
        baseline=rows[0].name,
        notes=(
            "eroded: each pixel is the darkest of four; contrast: pixels times the number",
            *scenario.notes,
        ),
    )
    return (table,)


def _images(scenario: Scenario, target: str, drawn: Drawn) -> Images:
    domain = scenario.benchmark.domain(target)
    if not isinstance(domain, ArrayDomain):
        raise ProRandConvError.about("--benchmark", scenario.name, "digits or digits-mini")
    stored = domain.read("test")
    images = Images.in_memory(
        drawn(channels_first(stored.images), domain.format.image_size),
        torch.from_numpy(stored.labels),
        classes=scenario.benchmark.classes,
        split="test",
        format=domain.format,
    )
    return images.subset(scenario.settings.test_images)


def _accuracies(run: Path, images: Mapping[str, Images], accelerator: str) -> dict[str, float]:
    """Of the network of a run; empty if the run is not done."""
    if not (run / RESULT).exists():
        return {}
    # What it names as its network was on the command line too: both have the same hash.
    trained = load_trained(run, accelerator=accelerator, trust_code=True)
    return {name: trained.measure(one).score for name, one in images.items()}
