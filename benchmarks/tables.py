"""The benchmark of the augmentation as tables in a terminal."""

from __future__ import annotations

import sys
from typing import Any

from candidates import CANDIDATES
from cells import Cell
from rich.console import Console
from rich.table import Table
from summary import STEP, Cells, over_obvious

WIDTH = 170


def time_text(entry: dict[str, Any]) -> str:
    """Median with quartiles in milliseconds, or why there is none."""
    if "median" not in entry:
        return next(word.replace("_", " ") for word in ("left_out", "failed") if word in entry)
    low, middle, high = (
        _milliseconds(entry[name]) for name in ("lower_quartile", "median", "upper_quartile")
    )
    return middle if len(entry["seconds"]) == 1 else f"{middle} ({low}–{high})"


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _table(title: str, first: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def show(cells: Cells, summary: dict[str, Any]) -> None:
    """Print the table of times and ratios, what follows from it, and the goals."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    names = [name for name in next(iter(cells.values())) if name != STEP]
    titles = [CANDIDATES[name].title for name in names]

    table = _table(
        "ms for a mini-batch, drawing included: median (quartiles), times as fast as obvious",
        "setting",
        titles,
    )
    notes: dict[str, str] = {}
    for cell, found in cells.items():
        table.add_row(cell.key, *(_entry(found, name, cell, notes) for name in names))
    console.print(table)
    for note in notes.values():
        console.print(note, highlight=False)

    for size, centre in summary["centres"].items():
        console.print(_centre_table(size, centre, names, titles))

    table = _table("growth: exponent of the time (1 is proportional)", "along", titles)
    for axis, exponents in summary["growth"].items():
        table.add_row(axis, *(_number(exponents[name], "{:.2f}") for name in names))
    console.print(table)

    table = _table("goals", "goal", ["images", "wanted", "measured", "verdict"])
    for goal in summary["goals"]:
        wanted = f"{'<=' if goal['at_most'] else '>='} {goal['target']:g}{goal['unit']}"
        measured = _number(goal["measured"], "{:.2f}" if goal["at_most"] else "{:.1f}")
        size = f"{goal['size']} px"
        table.add_row(goal["title"], size, wanted, measured + goal["unit"], goal["verdict"])
    console.print(table)


def _entry(found: dict[str, dict[str, Any]], name: str, cell: Cell, notes: dict[str, str]) -> str:
    entry = found[name]
    text = time_text(entry)
    for reason in ("left_out", "failed"):
        if reason in entry:
            notes[f"{cell.key} {name}"] = f"{cell.key}, {name}: {text}, {entry[reason]}"
    ratio = over_obvious(found, name)
    if ratio is None or name == "obvious":
        return text
    return f"{text}\n{_number(ratio['median'], '{:.3g}')}×"


def _centre_table(size: int, centre: dict[str, Any], names: list[str], titles: list[str]) -> Table:
    limit = centre["limit"]
    title = (
        f"{size} px: one repetition takes at least {limit['seconds_at_peak'] * 1e3:.3g} ms for its "
        f"multiply-adds at the matrix product's peak, {limit['seconds_at_bandwidth'] * 1e3:.3g} ms "
        f"for its bytes at memcpy's speed ({limit['bytes_per_second'] / 1e9:.1f} GB/s)"
    )
    table = _table(title, "", titles)
    rows = {
        "% of an ERM step": centre.get("share_of_step", {}),
        "% of the speed at peak multiply-adds": centre["share_of_limit"],
        "% of the speed at memcpy's bandwidth": centre["share_of_roofline"],
    }
    for row, values in rows.items():
        shown = (values.get(name) for name in names)
        table.add_row(row, *(_number(value and 100 * value, "{:.3g}") for value in shown))
    for kind in ("peak", "kept"):
        memory = (centre["memory"].get(name, {}).get(kind) for name in names)
        row = {
            "peak": "peak extra memory, copies of the batch",
            "kept": "of it kept for later calls",
        }
        table.add_row(row[kind], *(_number(value, "{:.2f}") for value in memory))
    return table


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
