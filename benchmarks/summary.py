"""From measured cells to ratios, growth and goals."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cells import Cell
from measuring import slope, spread

Found = dict[str, dict[str, Any]]
Cells = dict[Cell, Found]
Centre = dict[str, Any]
"""What was summarised of one centre."""
Measure = Callable[[Centre], float | None]
STEP = "erm_step"
ENGINES = ("native", "eager", "triton")
IN_GOALS = ("obvious", *ENGINES, STEP)


def over_obvious(found: Found, name: str) -> dict[str, float] | None:
    """How many times as fast as the obvious way: medians of the rounds that both have had.

    The quartiles are those of the ratios round by round.
    """
    obvious, own = found.get("obvious", {}), found.get(name, {})
    both = list(zip(obvious.get("seconds", ()), own.get("seconds", ()), strict=False))
    if not both:
        return None
    theirs, ours = ([pair[place] for pair in both] for place in (0, 1))
    ratio = statistics.median(theirs) / statistics.median(ours)
    return {**spread([a / b for a, b in both]), "median": ratio}


def growth(cells: Cells, name: str, along: Callable[[Cell], float]) -> float | None:
    """Exponent of the time along an axis, from rounds with the same L in all cells."""
    measured = {cell: found[name] for cell, found in cells.items() if "seconds" in found[name]}
    if len(measured) < 2:
        return None
    rounds = min(len(entry["seconds"]) for entry in measured.values())
    times = [statistics.median(entry["seconds"][:rounds]) for entry in measured.values()]
    return slope([along(cell) for cell in measured], times)


@dataclass(frozen=True)
class Axis:
    """Cells that differ from a centre in one thing only, in growing order."""

    along: Literal["size", "batch", "repeats"]
    """the field of a cell that differs"""
    sign: str
    where: str
    """what does not differ"""
    cells: Cells

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.sign} at {self.where}"

    def position(self, cell: Cell) -> int:
        """Where a cell stands on the axis."""
        return getattr(cell, self.along) or 0

    def amount(self, cell: Cell) -> int:
        """What time is expected to be proportional to."""
        position = self.position(cell)
        return position**2 if self.along == "size" else position


def axes(cells: Cells, centres: Iterable[Cell]) -> list[Axis]:
    """The axes through each centre; centres on the same axis have it once."""
    found: dict[str, Axis] = {}
    for centre in centres:
        size, batch = centre.size, centre.batch
        along_size = [c for c in cells if c == Cell(c.size, batch, centre.repeats, centre.dtype)]
        along_batch = [c for c in cells if c == Cell(size, c.batch, centre.repeats, centre.dtype)]
        along_repeats = [c for c in cells if c.repeats and c.size == size]
        for axis in (
            Axis("size", "H·W", f"N = {batch}", _part(cells, along_size)),
            Axis("batch", "N", f"{size} px", _part(cells, along_batch)),
            Axis("repeats", "L", f"{size} px", _part(cells, along_repeats)),
        ):
            found[axis.title] = axis
    return list(found.values())


def _part(cells: Cells, chosen: list[Cell]) -> Cells:
    return {cell: cells[cell] for cell in sorted(chosen, key=lambda cell: cell.work())}


@dataclass(frozen=True)
class Goal:
    """One figure to be reached, and what was measured."""

    size: int
    title: str
    target: float
    at_most: bool
    measured: float | None
    unit: str = ""

    @property
    def verdict(self) -> str:
        """Met, or by how much not."""
        if self.measured is None:
            return "not measured"
        if (self.measured <= self.target) if self.at_most else (self.measured >= self.target):
            return "met"
        part = self.measured / self.target
        return (
            f"short: {part:.2f} of the goal" if not self.at_most else f"{part:.2f} times the goal"
        )


def _over_obvious(name: str) -> Measure:
    return lambda centre: (centre.get("over_obvious", {}).get(name) or {}).get("median")


def _share_of_limit(centre: Centre) -> float | None:
    share = centre.get("share_of_limit", {}).get("native")
    return share and 100 * share


def _share_of_step(centre: Centre) -> float | None:
    share = centre.get("share_of_step", {}).get(_auto(centre))
    return share and 100 * share


def _memory(centre: Centre) -> float | None:
    return centre.get("memory", {}).get(_auto(centre), {}).get("peak")


def _auto(centre: Centre) -> str:
    """The engine that ``auto`` would take."""
    return next((name for name in ENGINES if name in centre.get("over_obvious", {})), "native")


@dataclass(frozen=True)
class Target:
    """A quantity with a goal for each centre, by size."""

    title: str
    measure: Measure
    at_most: bool
    unit: str
    by_size: Mapping[int, float]


TARGETS = (
    Target("eager over obvious", _over_obvious("eager"), False, "×", {32: 25, 224: 30}),
    Target("native over obvious", _over_obvious("native"), False, "×", {32: 100, 224: 150}),
    Target("native, share of the CPU's limit", _share_of_limit, False, "%", {32: 40, 224: 40}),
    Target("augmentation / ERM step", _share_of_step, True, "%", {32: 2.0, 224: 1.5}),
    Target("peak extra memory", _memory, True, " copies", {32: 2.0, 224: 2.0}),
)


def goals(centres: Mapping[int, Centre]) -> list[Goal]:
    """The goals of both centres."""
    return [
        Goal(size, one.title, goal, one.at_most, one.measure(centres.get(size, {})), one.unit)
        for one in TARGETS
        for size, goal in one.by_size.items()
    ]


def centre_summary(
    found: Found, limit: dict[str, float], memory: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """What is claimed of one centre."""
    medians = {name: entry["median"] for name, entry in found.items() if "median" in entry}
    step = medians.pop(STEP, None)
    ratios = {name: over_obvious(found, name) for name in medians if name != "obvious"}
    summary: dict[str, Any] = {"over_obvious": ratios, "memory": memory, "limit": limit}
    if step is not None:
        summary["share_of_step"] = {name: value / step for name, value in medians.items()}
    for share, seconds in (("share_of_limit", "at_peak"), ("share_of_roofline", "at_bandwidth")):
        # a centre's rounds have 5.5 repetitions in the median
        summary[share] = {
            name: 5.5 * limit[f"seconds_{seconds}"] / medians[name]
            for name in ENGINES
            if name in medians
        }
    return summary


def summarised(
    cells: Cells, limits: dict[int, dict[str, float]], memory: dict[int, dict[str, Any]], batch: int
) -> dict[str, Any]:
    """Everything that is derived from what was measured."""
    centres = {size: Cell(size, batch) for size in limits if Cell(size, batch) in cells}
    names = [name for name in next(iter(cells.values())) if name != STEP]
    by_centre = {
        size: centre_summary(cells[cell], limits[size], memory.get(size, {}))
        for size, cell in centres.items()
    }
    return {
        "centres": by_centre,
        "growth": {
            axis.title: {name: growth(axis.cells, name, axis.amount) for name in names}
            for axis in axes(cells, centres.values())
        },
        "goals": [{**asdict(goal), "verdict": goal.verdict} for goal in goals(by_centre)],
        "cells": [
            {
                **asdict(cell),
                "candidates": found,
                "over_obvious": {
                    name: over_obvious(found, name) for name in names if name != "obvious"
                },
            }
            for cell, found in cells.items()
        ],
    }
