"""The benchmark of the augmentation as one picture of small panels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from candidates import CANDIDATES
from cells import Cell
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter
from summary import Axis, Cells, axes, over_obvious

LOOKS = {
    "obvious": ("#000000", "o", "-"),
    "compiled": ("#000000", "s", ":"),
    "kornia": ("#CC79A7", "D", "--"),
    "plain_conv": ("#E69F00", "v", "--"),
    "reference": ("#999999", "x", "-"),
    "eager": ("#0072B2", "^", "-"),
    "native": ("#D55E00", "*", "-"),
    "triton": ("#009E73", "P", "-"),
}
"""Colour, marker and line: the colours of Okabe and Ito, which all eyes tell apart, and in grey
print the markers do."""


LABELS = {
    "size": "side of an image in pixels",
    "batch": "images in the mini-batch",
    "repeats": "repetitions",
}


def picture(cells: Cells, centres: list[Cell], note: str) -> Figure:
    """Time against size, N and L, and the ratio to the obvious way against size."""
    parts = axes(cells, centres)
    by_size = next(axis for axis in parts if axis.along == "size")
    panels: list[tuple[Axis, str, Value]] = [
        (by_size, "seconds", _seconds),
        (by_size, "times as fast as obvious", _ratio),
    ]
    for along in ("batch", "repeats"):
        panels += [(axis, "seconds", _seconds) for axis in parts if axis.along == along]
    columns = len(panels) // 2
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(3.6 * columns, 6.8), layout="constrained")
        grid = figure.subplots(2, columns, squeeze=False)
        # column by column: size above its ratio, small images above large ones
        for panel, place in zip(panels, grid.T.flat, strict=False):
            _panel(place, *panel)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
        figure.supxlabel(f"bands: quartiles. {note}", fontsize=8, color="#444444")
    return figure


Value = Callable[[dict, str], tuple[float, float, float] | None]


def _seconds(found: dict, name: str) -> tuple[float, float, float] | None:
    entry = found[name]
    if "median" not in entry:
        return None
    return entry["lower_quartile"], entry["median"], entry["upper_quartile"]


def _ratio(found: dict, name: str) -> tuple[float, float, float] | None:
    ratio = None if name == "obvious" else over_obvious(found, name)
    return ratio and (ratio["lower_quartile"], ratio["median"], ratio["upper_quartile"])


def _panel(place: Axes, axis: Axis, quantity: str, value: Value) -> None:
    position = {cell: axis.position(cell) for cell in axis.cells}
    fixed_repeats = axis.along == "repeats"
    for candidate, (colour, marker, line) in LOOKS.items():
        shown = {
            position[cell]: found_value
            for cell, found in axis.cells.items()
            if candidate in found and (found_value := value(found, candidate)) is not None
        }
        if not shown:
            continue
        low, middle, high = zip(*shown.values(), strict=True)
        look = {"color": colour, "marker": marker, "linestyle": line, "markersize": 5}
        place.plot(list(shown), middle, label=CANDIDATES[candidate].title, linewidth=1.2, **look)
        # with random L the quartiles of the time would show L
        if fixed_repeats or value is _ratio:
            place.fill_between(list(shown), low, high, color=colour, alpha=0.15, linewidth=0)
    if value is _ratio:
        place.axhline(1, color="#000000", linewidth=0.8)
    title = axis.where + ("" if fixed_repeats else ", random L")
    place.set(xscale="log", yscale="log", xlabel=LABELS[axis.along], ylabel=quantity, title=title)
    place.set_xticks(sorted(set(position.values())))
    place.xaxis.set_major_formatter(ScalarFormatter())
    place.xaxis.set_minor_locator(NullLocator())
    place.grid(color="#dddddd", linewidth=0.6)


def save(figure: Figure, path: Path) -> None:
    """Write a picture without the date, so that the same figures give the same file."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    with mpl.rc_context({"svg.hashsalt": "prorandconv"}):
        figure.savefig(path, metadata=metadata, dpi=110)
