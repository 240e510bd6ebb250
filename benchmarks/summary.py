"""From measured cells to ratios, growth and goals."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from cells import Cell
from measuring import slope, spread

Found = dict[str, dict[str, Any]]
Cells = dict[Cell, Found]
STEP = "erm_step"
ENGINES = ("native", "eager")
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


def axes(cells: Cells, centres: Iterable[Cell]) -> dict[str, tuple[Cells, Callable[[Cell], float]]]:
    """Cells that differ from a centre in one thing only, in growing order, by the axis's name."""
    found: dict[str, tuple[Cells, Callable[[Cell], float]]] = {}
    for centre in centres:
        size, batch = centre.size, centre.batch
        along_size = [c for c in cells if c == Cell(c.size, batch, centre.repeats, centre.dtype)]
        along_batch = [c for c in cells if c == Cell(size, c.batch, centre.repeats, centre.dtype)]
        along_repeats = [c for c in cells if c.repeats and c.size == size]
        found[f"H·W at N = {batch}"] = (_part(cells, along_size), lambda cell: cell.size**2)
        found[f"N at {size} px"] = (_part(cells, along_batch), lambda cell: cell.batch)
        found[f"L at {size} px"] = (_part(cells, along_repeats), lambda cell: cell.repeats or 0)
    return found


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


TARGETS: dict[str, tuple[bool, str, dict[int, float]]] = {
    "eager over obvious": (False, "×", {32: 25, 224: 30}),
    "native over obvious": (False, "×", {32: 100, 224: 150}),
    "native, share of the CPU's limit": (False, "%", {32: 40, 224: 40}),
    "augmentation / ERM step": (True, "%", {32: 2.0, 224: 1.5}),
    "peak extra memory": (True, " copies", {32: 2.0, 224: 2.0}),
}


def goals(centres: dict[int, dict[str, Any]]) -> list[Goal]:
    """The goals of both centres; the augmentation is that of the engine ``auto`` would take."""
    found = []
    for title, (at_most, unit, targets) in TARGETS.items():
        for size, target in targets.items():
            value = _measured(title, centres.get(size, {}))
            found.append(Goal(size, title, target, at_most, value, unit))
    return found


def _measured(title: str, centre: dict[str, Any]) -> float | None:
    auto = next((name for name in ENGINES if name in centre.get("over_obvious", {})), "native")
    if title.endswith("over obvious"):
        ratio = centre.get("over_obvious", {}).get(title.split()[0])
        return ratio and ratio["median"]
    if title.startswith("native, share"):
        share = centre.get("share_of_limit", {}).get("native")
    elif title.endswith("step"):
        share = centre.get("share_of_step", {}).get(auto)
    else:
        return centre.get("memory", {}).get(auto, {}).get("peak")
    return share and 100 * share


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
            axis: {name: growth(part, name, along) for name in names}
            for axis, (part, along) in axes(cells, centres.values()).items()
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
