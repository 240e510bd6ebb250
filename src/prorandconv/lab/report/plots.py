"""A table as a plot: curves if its columns are numbers on an axis; else dots or bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..study.table import FEWEST, Axis, Table
from .curves import GROUND, INK, PHONE_WIDTH, grid, legend_columns, new_figure, shade, styled
from .grid import Digits, heading, repetitions
from .looks import LOOKS, OTHERS, looks

PANELS = 4
"""Panels beside each other."""
DOTS_WIDTH = 6.4
"""Inches."""
LABEL_ROOM = 0.055
"""Least distance of two labels, as a share of the plot's height."""


def table_plot(table: Table, panels: int = PANELS) -> Figure | None:
    """The plot; None if there is nothing to be seen.

    Args:
        table: what to draw.
        panels: how many of them at most stand beside each other; 1 is a plot for a phone.
    """
    if not any(table.estimate(row, column) for row in table.rows for column in table.columns):
        return None
    with styled():
        if table.axis is not None:
            return _curves(table, table.axis, phone=panels == 1)
        if _has_dots(table):
            return _dots(table, PHONE_WIDTH if panels == 1 else DOTS_WIDTH)
        return _bars(table, panels)


def describe(table: Table) -> str:
    """What the plot shows, in a sentence."""
    sure = _has_dots(table) and len(table.seeds) >= FEWEST
    measure = "95 % interval" if sure else "standard deviation"
    spread = f" with {measure} over {repetitions(table)}" if len(table.seeds) > 1 else ""
    marks = "; the paper's figures are hollow marks" if table.has_paper else ""
    return f"{heading(table)}, as a plot: means{spread}{marks}"


def _explain_paper(figure: Figure, table: Table, marker: str, line: Literal["", ":"]) -> None:
    if table.has_paper:
        mark = Line2D([], [], marker=marker, color=INK, markerfacecolor=GROUND, linestyle=line)
        figure.legend([mark], ["the paper"], loc="outside upper right")


def _has_dots(table: Table) -> bool:
    """Accuracies are dots on one scale, as long as there is a look for each row."""
    return table.axis is None and table.unit == "%" and len(table.rows) <= len(LOOKS) + len(OTHERS)


def _dots(table: Table, width: float) -> Figure:
    """All columns below each other on one scale, a dot for each row."""
    columns, chosen = table.shown_columns, looks(table.rows)
    step = len(table.rows) + 1
    names = [*chosen, *(["the paper"] if table.has_paper else [])]
    across = legend_columns(names, width)
    lines = max(3, math.ceil(len(names) / across))
    figure = new_figure(width, 0.73 + 0.19 * (lines + step * len(columns)))
    axes = figure.subplots()
    grid(axes, "x")
    for group, column in enumerate(columns):
        for place, (row, style) in enumerate(chosen.items(), group * step):
            own, paper = table.estimate(row, column), table.paper(row, column)
            if own is not None:
                spread = own.deviation or 0.0
                low, high = own.interval or (own.mean - spread, own.mean + spread)
                axes.plot([low, high], [place, place], color=style.colour, linewidth=1.4)
                axes.plot(own.mean, place, style.marker, color=style.colour, markersize=6)
            if paper is not None:
                (mark,) = axes.plot(paper, place, style.marker, color=style.colour, markersize=6)
                mark.set_markerfacecolor(GROUND)
    middles = [group * step + (step - 2) / 2 for group in range(len(columns))]
    axes.set_yticks(middles, [*map(table.heading_of, columns)])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(columns) * step - 1, -1)
    for line in range(1, len(columns)):
        axes.axhline(line * step - 1, color=INK, alpha=0.15, linewidth=0.6)
    axes.set_xlabel(f"{table.score}, %")
    marks = [Line2D([], [], marker=look.marker, color=look.colour) for look in chosen.values()]
    if table.has_paper:
        marks.append(Line2D([], [], marker="o", color=INK, markerfacecolor=GROUND, linestyle=""))
    figure.legend(marks, names, loc="outside upper left", ncols=across)
    return figure


def _bars(table: Table, most: int) -> Figure:
    """A panel for each column, a bar for each row."""
    columns = table.shown_columns
    across = min(len(columns), most)
    down = math.ceil(len(columns) / across)
    names = [fill(row, 26) for row in table.rows]
    height = down * (0.34 * sum(1 + name.count("\n") / 2 for name in names) + 0.85)
    width = PHONE_WIDTH if most == 1 else 2.1 + 2.0 * across
    figure = new_figure(width, max(height, 1.6) + 0.3)
    panels = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for axes, column in zip(panels, columns, strict=False):
        _bar_panel(axes, table, column)
    for axes in panels[len(columns) :]:
        axes.set_visible(False)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    _explain_paper(figure, table, "D", "")
    figure.suptitle(fill(heading(table), 34 * across - 10), x=0.01, ha="left", fontsize=11)
    return figure


def _bar_panel(axes: Axes, table: Table, column: str) -> None:
    digits = Digits.of(table, column)
    grid(axes, "x")
    axes.tick_params(axis="y", length=0)
    reached = 0.0
    chosen = looks(table.rows)
    for place, row in enumerate(table.rows):
        own, paper = table.estimate(row, column), table.paper(row, column)
        style = chosen[row]
        if own is not None:
            spread = own.deviation or 0.0
            axes.barh(
                place,
                own.mean,
                0.68,
                xerr=spread or None,
                color=style.colour,
                error_kw={"ecolor": INK, "capsize": 2, "elinewidth": 1},
            )
        if paper is not None:
            axes.plot(paper, place, "D", color=INK, markerfacecolor=GROUND, markersize=5)
        ends = [paper or 0.0] + ([own.mean + (own.deviation or 0.0)] if own is not None else [])
        reached = max(reached, *ends)
        if own is not None:
            few = Digits(min(digits.count, 1)) if table.unit == "%" else digits
            axes.annotate(
                few.plain(own.mean),
                (max(ends), place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    axes.set_xlim(0, reached * 1.32 or 1)
    axes.set_title(table.heading_of(column))
    if table.unit:
        axes.set_xlabel(table.unit)


def _curves(table: Table, axis: Axis, phone: bool) -> Figure:
    """A curve for each row, with the row's name at its end."""
    figure = new_figure(PHONE_WIDTH if phone else 7.5, 4.2)
    axes = figure.subplots()
    grid(axes, "y")
    ends: list[tuple[float, float, str, str]] = []
    for row, style in looks(table.rows).items():
        found = [
            (x, estimate)
            for x, column in zip(axis.positions, table.columns, strict=True)
            if (estimate := table.estimate(row, column)) is not None
        ]
        xs, means = [x for x, _ in found], [estimate.mean for _, estimate in found]
        if found:
            axes.plot(xs, means, color=style.colour, marker=style.marker, linestyle=style.line)
            shade(axes, xs, [estimate for _, estimate in found], style.colour)
            ends.append((xs[-1], means[-1], row, style.colour))
        published = [
            (x, value)
            for x, column in zip(axis.positions, table.columns, strict=True)
            if (value := table.paper(row, column)) is not None
        ]
        if published:
            axes.plot(
                *zip(*published, strict=True),
                color=style.colour,
                marker=style.marker,
                markerfacecolor=GROUND,
                linestyle=":",
                linewidth=1,
            )
    axes.set_xlabel(axis.label)
    axes.set_ylabel(table.unit)
    axes.set_xticks(axis.positions, [f"{x:g}" for x in axis.positions])
    axes.set_title(fill(heading(table), 30) if phone else heading(table))
    _explain_paper(figure, table, "o", ":")
    label_ends(axes, ends)
    return figure


def label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write each curve's name beside its end (x, y, name, colour); labels keep a distance."""
    low, high = axes.get_ylim()
    before = -math.inf
    for x, y, name, colour in sorted(ends, key=lambda end: end[1]):
        before = height = max(y, before + LABEL_ROOM * (high - low))
        axes.annotate(
            name,
            (x, y),
            xytext=(1.03, height),
            textcoords=axes.get_yaxis_transform(),
            va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "shrinkA": 2, "shrinkB": 6},
        )
