"""Accuracy by the number of repetitions and by family of shifts, as a plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from ..report.curves import grid, new_figure, styled
from ..report.looks import looks

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
