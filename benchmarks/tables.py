"""The benchmark of the augmentation as tables, in a terminal and in Markdown."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from candidates import CANDIDATES
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from summary import STEP, Cells, Found, over_obvious

WIDTH = 170


@dataclass
class Figures:
    """A table: its title, the heads of its columns, its rows, and notes below it."""

    title: str
    heads: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def for_terminal(self) -> Table:
        """As a table of rich."""
        notes = escape("\n".join(self.notes)) or None
        table = Table(title=self.title, title_justify="left", caption=notes, caption_justify="left")
        for number, head in enumerate(self.heads):
            table.add_column(head, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """As a table of Markdown."""
        lines = [self.heads, ["---", *["---:"] * (len(self.heads) - 1)], *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |".replace("\n", " ") for line in lines)
        notes = "".join(f"\n- {note}" for note in self.notes)
        return f"{self.title}\n\n{table}\n{notes}".rstrip() + "\n"


def tables(cells: Cells, summary: dict[str, Any]) -> list[Figures]:
    """Times and ratios, what follows from them at each centre, growth, and the goals."""
    names = [name for name in next(iter(cells.values())) if name != STEP]
    titles = [CANDIDATES[name].title for name in names]
    times = Figures(
        "ms for a mini-batch, drawing included: median (quartiles); times as fast as obvious over "
        "the rounds that both had",
        ["setting", *titles],
    )
    for cell, found in cells.items():
        times.rows.append([cell.key, *(_time_and_ratio(found, name) for name in names)])
        for name in names:
            if reason := _missing(found[name]):
                times.notes.append(
                    f"{cell.key}, {name}: {reason.replace('_', ' ')}, {found[name][reason]}"
                )
    growth = Figures("growth: exponent of the time (1 is proportional)", ["along", *titles])
    for axis, exponents in summary["growth"].items():
        growth.rows.append([axis, *(_number(exponents[name], "{:.2f}") for name in names)])
    goals = Figures("goals", ["goal", "images", "wanted", "measured", "verdict"])
    for goal in summary["goals"]:
        unit, decimals = goal["unit"], "{:.2f}" if goal["at_most"] else "{:.1f}"
        wanted = f"{'<=' if goal['at_most'] else '>='} {goal['target']:g}{unit}"
        measured = _number(goal["measured"], decimals + unit)
        goals.rows.append([goal["title"], f"{goal['size']} px", wanted, measured, goal["verdict"]])
    centres = [_centre(*one, names, titles) for one in summary["centres"].items()]
    return [times, *centres, growth, goals]


def show(figures: list[Figures]) -> None:
    """Print tables on a terminal, or as wide as they need elsewhere."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    for one in figures:
        console.print(one.for_terminal())


def _time_and_ratio(found: Found, name: str) -> str:
    entry = found[name]
    if missing := _missing(entry):
        return missing.replace("_", " ")
    low, middle, high = (
        _milliseconds(entry[part]) for part in ("lower_quartile", "median", "upper_quartile")
    )
    once = len(entry["seconds"]) == 1
    text = f"{middle} (L = {entry['repeats'][0]}, once)" if once else f"{middle} ({low}–{high})"
    ratio = None if name == "obvious" else over_obvious(found, name)
    return text if ratio is None else f"{text}\n{ratio['median']:.3g}×"


def _missing(entry: dict[str, Any]) -> str | None:
    """The word for why there is no figure."""
    return next((word for word in ("left_out", "failed") if word in entry), None)


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _centre(size: int, centre: dict[str, Any], names: list[str], titles: list[str]) -> Figures:
    limit = centre["limit"]
    figures = Figures(
        f"{size} px: one repetition takes at least {limit['seconds_at_peak'] * 1e3:.3g} ms for its "
        f"multiply-adds at the matrix product's peak, {limit['seconds_at_bandwidth'] * 1e3:.3g} ms "
        f"for its bytes at memcpy's speed ({limit['bytes_per_second'] / 1e9:.1f} GB/s)",
        ["", *titles],
    )
    memory: dict[str, dict[str, float]] = centre["memory"]
    rows = {
        "time over that of an ERM step": (centre.get("share_of_step", {}), "{:.1%}"),
        "share of the speed at peak multiply-adds": (centre["share_of_limit"], "{:.1%}"),
        "share of the speed at memcpy's bandwidth": (centre["share_of_roofline"], "{:.1%}"),
        "peak extra memory, copies of the batch": (_one(memory, "peak"), "{:.2f}"),
        "of it kept for later calls": (_one(memory, "kept"), "{:.2f}"),
    }
    for row, (values, form) in rows.items():
        figures.rows.append([row, *(_number(values.get(name), form) for name in names)])
    figures.notes += [
        f"memory of {name} not measured: {one['failed']}"
        for name, one in memory.items()
        if "failed" in one
    ]
    return figures


def _one(memory: dict[str, dict[str, float]], kind: str) -> dict[str, float]:
    return {name: one[kind] for name, one in memory.items() if kind in one}


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
