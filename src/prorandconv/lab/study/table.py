"""What a study finds: figures by row, column and seed, beside the paper's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import ProRandConvError

STUDY = "study.json"
"""The file that a study's tables are stored in."""
AVERAGE = "/average"
"""The key of the average among the columns; no domain is called so, because it is no folder."""
CONFIDENCE = 0.95
FEWEST = 3
"""Seeds that an interval needs: of two values it would be 13 times as wide as they are apart."""


@dataclass(frozen=True)
class Cell:
    """One figure of a table, once for each seed."""

    values: tuple[float | None, ...]
    """in the order of the table's seeds; None where a run is not done"""
    paper: float | None = None
    """what the paper reports"""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and how sure it is."""

    mean: float
    deviation: float | None = None
    """sample standard deviation; None with one seed"""
    interval: tuple[float, float] | None = None
    """95 % interval of the mean by Student's t; None below three seeds"""
    values: tuple[float, ...] = ()
    """what it was made from"""

    @property
    def seeds(self) -> int:
        """How many values there were."""
        return len(self.values)

    @classmethod
    def of(
        cls, values: Sequence[float | None], ends: tuple[float, float] = (-math.inf, math.inf)
    ) -> Estimate | None:
        """The estimate from one value a seed, None among them left out; None if nothing is left.

        Args:
            values: one for each seed.
            ends: what the mean cannot be below or above, nor its interval.

        Example:
            >>> estimate = Estimate.of([80.0, 82.0, 84.0])
            >>> estimate.mean, estimate.deviation, [round(end, 2) for end in estimate.interval]
            (82.0, 2.0, [77.03, 86.97])
        """
        there = tuple(value for value in values if value is not None)
        if not there:
            return None
        mean = statistics.fmean(there)
        deviation = statistics.stdev(there) if len(there) > 1 else None
        if deviation is None or len(there) < FEWEST:
            return cls(mean, deviation, None, there)
        from scipy.special import stdtrit  # only here: --help must not wait for it

        quantile = float(stdtrit(len(there) - 1, (1 + CONFIDENCE) / 2))
        half = quantile * deviation / math.sqrt(len(there))
        return cls(mean, deviation, (max(mean - half, ends[0]), min(mean + half, ends[1])), there)


@dataclass(frozen=True)
class Axis:
    """Columns that are numbers on an axis: such a table is also a plot of curves."""

    label: str
    positions: tuple[float, ...]
    """in the order of the columns"""


@dataclass(frozen=True)
class Table:
    """Figures by row, column and seed."""

    name: str
    """short, for file names"""
    title: str
    reference: str
    """the table or figure of the paper"""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    """without the average, which is made from them"""
    seeds: tuple[int, ...]
    cells: Mapping[tuple[str, str], Cell]
    """by row and column; a pair may lack"""
    unit: str = "%"
    score: str = "accuracy"
    """what the figures are, for people"""
    baseline: str | None = None
    """the row that others are compared with, seed by seed"""
    averaged: tuple[str, ...] = ()
    """columns of which the average is taken; none: no average"""
    axis: Axis | None = None
    notes: tuple[str, ...] = field(default=())
    """what a reader must know, such as which domains are absent"""

    def __post_init__(self) -> None:
        for row, column in self.cells:
            if row not in self.rows or column not in self.columns:
                raise ProRandConvError.about("cells", (row, column), "a row and a column of it")
        for cell in self.cells.values():
            if len(cell.values) != len(self.seeds):
                raise ProRandConvError.about(
                    "cells",
                    f"{len(cell.values)} values",
                    f"one for each of {len(self.seeds)} seeds",
                )
            for value in (*cell.values, cell.paper):
                if value is not None and not isinstance(value, int | float):
                    raise ProRandConvError.about("cells", value, "numbers, or None where missing")

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """The average if there is one, and the columns."""
        return (AVERAGE, *self.columns) if self.averaged else self.columns

    def heading_of(self, column: str) -> str:
        """What people read above a column of :attr:`shown_columns`."""
        if column != AVERAGE:
            return column
        return "average" if "average" not in self.columns else "average of all"

    def values(self, row: str, column: str) -> tuple[float | None, ...]:
        """One value for each seed; the average needs all of its columns."""
        if column != AVERAGE:
            cell = self.cells.get((row, column))
            return cell.values if cell is not None else (None,) * len(self.seeds)
        of_columns = zip(*(self.values(row, name) for name in self.averaged), strict=True)
        return tuple(mean_of_all(of_seed) for of_seed in of_columns)

    def paper(self, row: str, column: str) -> float | None:
        """The paper's figure; its average is taken over the same columns as ours."""
        if column != AVERAGE:
            cell = self.cells.get((row, column))
            return cell.paper if cell is not None else None
        return mean_of_all([self.paper(row, name) for name in self.averaged])

    def estimate(self, row: str, column: str) -> Estimate | None:
        """Mean, deviation and interval over the seeds."""
        ends = (0.0, 100.0) if self.unit == "%" else (-math.inf, math.inf)
        return Estimate.of(self.values(row, column), ends)

    def to_paper(self, row: str, column: str) -> float | None:
        """Our mean less the paper's figure."""
        ours, paper = self.estimate(row, column), self.paper(row, column)
        return None if ours is None or paper is None else ours.mean - paper

    def gain(self, row: str, column: str) -> Estimate | None:
        """The difference to the baseline, paired by seed; None for the baseline itself."""
        if self.baseline is None or row == self.baseline:
            return None
        return self.difference(row, self.baseline, column)

    def difference(self, row: str, other: str, column: str) -> Estimate | None:
        """The figures of a row less those of another, paired by seed."""
        pairs = zip(self.values(row, column), self.values(other, column), strict=True)
        return Estimate.of([None if a is None or b is None else a - b for a, b in pairs])

    @property
    def has_paper(self) -> bool:
        """Whether a figure of the paper stands beside one of ours."""
        return any(cell.paper is not None for cell in self.cells.values())

    @property
    def complete(self) -> bool:
        """Whether every cell has a value for every seed."""
        return all(value is not None for cell in self.cells.values() for value in cell.values)

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as in study.json."""
        return {
            "name": self.name,
            "title": self.title,
            "reference": self.reference,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "seeds": list(self.seeds),
            "unit": self.unit,
            **({} if self.score == "accuracy" else {"score": self.score}),
            "baseline": self.baseline,
            "averaged": list(self.averaged),
            "axis": None
            if self.axis is None
            else {"label": self.axis.label, "positions": list(self.axis.positions)},
            "notes": list(self.notes),
            "cells": [
                {"row": row, "column": column, "values": list(cell.values), "paper": cell.paper}
                for (row, column), cell in self.cells.items()
            ],
        }

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Table:
        """The table that was stored."""
        axis = stored["axis"]
        lists = ("rows", "columns", "seeds", "averaged", "notes")
        plain: dict[str, Any] = {
            name: tuple(value) if name in lists else value for name, value in stored.items()
        }
        return cls(
            **{name: value for name, value in plain.items() if name not in ("axis", "cells")},
            axis=None if axis is None else Axis(axis["label"], tuple(axis["positions"])),
            cells={
                (cell["row"], cell["column"]): Cell(tuple(cell["values"]), cell["paper"])
                for cell in stored["cells"]
            },
        )


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """The mean; None if a value is missing or there is none."""
    there = [value for value in values if value is not None]
    return statistics.fmean(there) if there and len(there) == len(values) else None
