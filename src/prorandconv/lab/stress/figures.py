"""What is drawn of a stress test: accuracies as a plot, and a sheet of failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from ...stress import Robustness
from ...stress.cases import ORIGINAL, Case, stressed
from ...stress.shifts import FAMILIES
from ..data import Images
from ..data.augmentation import normalise
from ..methods.augmenting import to_pixels
from ..report.curves import grid, new_figure, styled
from ..report.looks import looks
from ..sheets import Row, Sheet, even

BESIDE = 0.2
"""Distance of models beside each other, of that of families."""


def curve(results: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Draw one line for each model.

    Args:
        results: of each model by its name, as :meth:`prorandconv.Robustness.to_mapping` gives them.
    """
    with styled():
        figure = new_figure(9.6, 3.6)
        left, right = figure.subplots(1, 2, sharey=True)
        for number, (name, look) in enumerate(looks(list(results)).items()):
            style = {"color": look.colour, "linestyle": look.line, "marker": look.marker}
            found = results[name]
            counts = list(map(int, found["repeats"]))
            left.plot(counts, list(found["repeats"].values()), **style, markersize=4.5, label=name)
            shifts = {family: own["accuracy"] for family, own in found["shifts"].items()}
            means = [sum(values) / len(values) for values in shifts.values()]
            places = [place + number * BESIDE for place in range(len(shifts))]
            right.plot(places, means, **(style | {"linestyle": ""}), markersize=6)
            low, high = ([f(values) for values in shifts.values()] for f in (min, max))
            right.vlines(places, low, high, color=look.colour, linewidth=1.2)
            right.set_xticks(range(len(shifts)), list(shifts), rotation=30, ha="right")
        left.set_title("Pro-RandConv")
        left.set_xlabel("repetitions L")
        left.set_xticks(range(11))
        left.set_ylabel("accuracy, %")
        left.set_ylim(0, 102)
        right.set_title("shifts: mean, and range of three strengths")
        for axes in (left, right):
            grid(axes, "y")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure


PER_ROW = 8
TILE = 128
LONGEST = 7
"""Letters of a class in a caption."""

ROWS = {
    "original": ORIGINAL,
    **{f"L = {count}": Case("repeats", str(count)) for count in (1, 4, 10)},
    **{f"{family}, medium": Case("shifts", family, 1) for family in FAMILIES},
}


def failures(found: Robustness, images: Images, title: str, margin: str) -> Image.Image | None:
    """Rows of pictures with their class and what they were taken for; None if there are none.

    Originals first; below them, pictures whose originals were known.

    Args:
        found: what the model took the images for.
        images: the same images.
        title: above the sheet.
        margin: below it, such as the command that makes it again.
    """
    chosen = {name: _chosen(found, case) for name, case in ROWS.items()}
    index = torch.unique(torch.cat(list(chosen.values())))
    if not len(index):
        return None
    form = images.format
    x = normalise(images.stacked(index), form.mean, form.std)
    made = stressed(x, index, mean=form.mean, std=form.std, draws=1, seed=found.seed)
    wanted = set(ROWS.values())
    changed = {case: batch for case, batch in made if case in wanted}
    rows = []
    for name, own in chosen.items():
        if len(own):
            batch = changed[ROWS[name]][torch.searchsorted(index, own)]
            taken_for = found.predicted[ROWS[name]][own]
            pairs = zip(found.labels[own].tolist(), taken_for.tolist(), strict=True)
            captions = [f"{_short(images, a)} › {_short(images, b)}" for a, b in pairs]
            rows.append(Row(name, [_picture(one, images) for one in batch], captions))
    notes = [
        'class › what it was taken for; in all rows but "original", the unchanged picture was known'
    ]
    return Sheet(title, rows, notes).drawn(margin)


def _chosen(found: Robustness, case: Case) -> Tensor:
    """Positions of images to show, at even distances among those that were not known."""
    wrong = found.predicted[case] != found.labels
    if case != ORIGINAL:
        wrong &= found.predicted[ORIGINAL] == found.labels
    positions = wrong.nonzero().squeeze(1)
    return positions[even(len(positions), PER_ROW)]


def _picture(image: Tensor, images: Images) -> Image.Image:
    pixels = to_pixels(image[None], images.format)[0]
    way = Image.Resampling.NEAREST if image.shape[-1] < TILE else Image.Resampling.BOX
    return Image.fromarray(pixels.permute(1, 2, 0).numpy()).resize((TILE, TILE), way)


def _short(images: Images, label: int) -> str:
    name = images.classes[label]
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
