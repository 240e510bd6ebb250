"""How plots look: readable in print and for the colour-blind, in light and dark."""

from __future__ import annotations

import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..study.table import Estimate
from .compare import Comparison
from .looks import LOOKS, OTHERS, Look, looks
from .read import ReportedRun

INK, GROUND = "#1b1b1c", "#fffffe"
"""Colours of text and background, which follow the page's between light and dark."""
DARK_INK, DARK_GROUND = "#e6e6e3", "#17181a"
PHONE_WIDTH = 3.7
"""Inches: what a screen of 390 pixels shows without making letters smaller."""
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": GROUND,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": GROUND,
    "font.size": 9,
    "legend.frameon": False,
    "savefig.facecolor": GROUND,
    "svg.hashsalt": "prorandconv",
    "text.color": INK,
    "text.parse_math": False,  # a name with $ is a name
    "xtick.color": INK,
    "ytick.color": INK,
}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; use it within :func:`styled`."""
    return Figure(figsize=(width, height), layout="constrained")


def styled() -> AbstractContextManager[None]:
    """The style, while a figure is made."""
    return rc_context(STYLE)


def legend_columns(names: Sequence[str], width: float) -> int:
    """How many names fit beside each other into a legend of this many inches."""
    return max(1, min(len(names), int(11 * width / (8 + max(map(len, names))))))


def grid(axes: Axes, axis: str) -> None:
    """Thin lines to read values by."""
    axes.grid(axis=axis, color=INK, alpha=0.15, linewidth=0.6)  # type: ignore[arg-type]


def shade(axes: Axes, xs: Sequence[float], estimates: Iterable[Estimate], colour: str) -> None:
    """The standard deviation around the means of a curve."""
    bands = [(one.mean, one.deviation or 0.0) for one in estimates]
    low, high = [mean - spread for mean, spread in bands], [mean + spread for mean, spread in bands]
    axes.fill_between(xs, low, high, color=colour, alpha=0.18, linewidth=0)


def render(figure: Figure, form: Literal["svg", "png"]) -> bytes:
    """The figure as the content of a file; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {}
    with styled():
        figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    figure.set_layout_engine("none")  # it is arranged now: not again for another form
    return buffer.getvalue()


def themed(drawing: bytes) -> bytes:
    """An SVG that follows the page it is in between light and dark."""
    text = drawing.decode().replace(INK, "var(--ink)").replace(GROUND, "var(--ground)")
    theme = (
        f"<style>svg{{--ink:{INK};--ground:{GROUND}}}@media(prefers-color-scheme:dark)"
        f"{{svg{{--ink:{DARK_INK};--ground:{DARK_GROUND}}}}}</style>"
    )
    return re.sub(r"(<svg[^>]*>)", lambda found: found[1] + theme, text, count=1).encode()


SOURCE = "source, validation"
PANELS = 3
"""Panels beside each other."""
FEWEST_POINTS = 3
"""Fewer are no curve."""


def learning_curves(comparison: Comparison, panels: int = PANELS) -> list[Figure]:
    """Mean and standard deviation over seeds; as many figures as it takes to tell methods apart.

    Args:
        comparison: whose runs to draw.
        panels: how many of them at most stand beside each other; 1 is a plot for a phone.
    """
    rows = [
        row for row, seeds in comparison.rows.items() if any(run.metrics for run in seeds.values())
    ]
    first = [row for row in rows if row == comparison.baseline]
    others = [row for row in rows if row not in first]
    size = len(LOOKS) + len(OTHERS) - 1
    parts = [others[start : start + size] for start in range(0, len(others), size)]
    figures = [
        _figure(comparison, [*first, *part], panels) for part in parts or [[]] if first or part
    ]
    return [figure for figure in figures if figure is not None]


def curve(runs: Iterable[ReportedRun], panel: str) -> dict[int, Estimate]:
    """The score by epoch, over the runs that have measured it."""
    values: dict[int, list[float | None]] = defaultdict(list)
    for run in runs:
        for line in run.metrics:
            measured: Mapping[str, float] = {
                SOURCE: line[run.validated],
                **line.get("targets", {}),
            }
            if panel in measured:
                values[line["epoch"]].append(measured[panel])
    found = {epoch: Estimate.of(of_seeds) for epoch, of_seeds in sorted(values.items())}
    return {epoch: estimate for epoch, estimate in found.items() if estimate is not None}


def _figure(comparison: Comparison, rows: list[str], panels: int) -> Figure | None:
    """Panels of those curves that have enough points; None if none has."""
    found = {
        name: {row: curve(comparison.rows[row].values(), name) for row in rows}
        for name in (SOURCE, *comparison.targets)
    }
    names = [name for name, own in found.items() if max(map(len, own.values())) >= FEWEST_POINTS]
    if not names:
        return None
    across = min(len(names), panels, 2 if len(names) == 4 else panels)
    down = math.ceil(len(names) / across)
    with styled():
        width = PHONE_WIDTH if panels == 1 else (5.4, 8.4, 9.6)[across - 1]
        columns = legend_columns(rows, width)
        lines = max(2, math.ceil(len(rows) / columns))
        figure = new_figure(width, 2.5 * down + 0.32 + 0.19 * lines)
        grid_of_axes = figure.subplots(down, across, squeeze=False, sharex=True).ravel()
        for axes, name in zip(grid_of_axes, names, strict=False):
            for row, style in looks(rows).items():
                _draw(axes, found[name][row], row, style)
            axes.set_title(name)
            axes.margins(y=0.08)
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            grid(axes, "y")
        for place, axes in enumerate(grid_of_axes):
            axes.set_visible(place < len(names))
            below = place + across < len(names)
            axes.tick_params(labelbottom=not below)
            if not below:
                axes.set_xlabel("epoch")
            if place % across == 0:
                axes.set_ylabel(f"{comparison.score}, %")
        handles, labels = grid_of_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=columns)
    return figure


def _draw(axes: Axes, found: Mapping[int, Estimate], row: str, style: Look) -> None:
    epochs = list(found)
    means = [estimate.mean for estimate in found.values()]
    axes.plot(
        epochs,
        means,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markersize=4.5,
        markevery=max(1, len(epochs) // 8),
        linewidth=1.4,
        label=row,
    )
    shade(axes, epochs, found.values(), style.colour)
