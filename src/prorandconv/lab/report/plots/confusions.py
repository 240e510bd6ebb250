"""Confusion matrices: a heat map for each target."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...run.evaluation import Evaluation
from ..compare import Comparison
from .style import GROUND, new_figure, styled

PANELS = 3
"""Panels beside each other."""
NUMBERED = 12
"""Up to so many classes, numbers and names are written."""


def confusion_plot(comparison: Comparison, row: str) -> Figure | None:
    """The heat maps of a method, counts summed over seeds; None if no run of it is done."""
    found = {
        target: counts
        for target in comparison.targets
        if (counts := comparison.confusion(row, target)) is not None
    }
    if not found:
        return None
    across = min(len(found), PANELS)
    down = math.ceil(len(found) / across)
    with styled():
        figure = new_figure(3.1 * across, 3.2 * down + 0.3)
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for axes, (target, counts) in zip(panels, found.items(), strict=False):
            _panel(axes, shares(counts), comparison.classes)
            axes.set_title(f"{target}: {counts.accuracy:.1f} %")
        for axes in panels[len(found) :]:
            axes.set_visible(False)
        panels[0].set_ylabel("true class")
        panels[0].set_xlabel("predicted class")
        figure.suptitle(f"{row}: % of the images of a class", x=0.01, ha="left", fontsize=11)
    return figure


def shares(counts: Evaluation) -> NDArray[np.float64]:
    """Per cent of each class's images (rows) that were predicted as each class (columns)."""
    plain = np.array(counts.confusion, dtype=np.float64)
    found: NDArray[np.float64] = 100 * plain / np.maximum(plain.sum(1, keepdims=True), 1)
    return found


def _panel(axes: Axes, found: NDArray[np.float64], classes: tuple[str, ...]) -> None:
    axes.imshow(found, cmap="Blues", vmin=0, vmax=100)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=7)
    if len(found) > NUMBERED:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    names = classes if len(classes) == len(found) else tuple(map(str, range(len(found))))
    long = max(map(len, names)) > 2
    axes.set_xticks(range(len(names)), names, rotation=90 if long else 0)
    axes.set_yticks(range(len(names)), names)
    for (true, taken), share in np.ndenumerate(found):
        if round(share) >= 1:
            colour = "#ffffff" if share > 55 else "#000000"
            axes.text(taken, true, f"{share:.0f}", color=colour, ha="center", va="center", size=6)
    axes.set_xticks(np.arange(len(names) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(names) - 1) + 0.5, minor=True)
    axes.tick_params(which="minor", length=0)
    axes.grid(which="minor", color=GROUND, linewidth=0.5)
