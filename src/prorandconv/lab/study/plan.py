"""What a study is: tables whose cells are read from runs, and the runs they need."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import unknown_name
from ..paper import Row
from ..run.config import RunConfig
from ..run.stored import Result, selected, validation_score
from ..tasks import get_task
from .settings import Settings
from .table import Axis, Cell, Table, mean_of_all


@dataclass(frozen=True)
class Reading:
    """A figure of a run: its score on targets, or in its own domain."""

    config: RunConfig
    targets: tuple[str, ...] = ()
    """their mean score; none: the score on the sources' validation split"""
    choice: str | None = None
    """weights by their name in result.json; None: those that the run has selected"""
    shifted: bool = False
    """whether shifted validation images are read where there are no targets"""

    def value(self, result: Result) -> float | None:
        """The figure, with the weights of its choice; None if a target was not measured."""
        chosen = selected(result) if self.choice is None else result[self.choice]
        metric = get_task(self.config.task).evaluation.metric
        if not self.targets:
            return float(chosen["val_shifted" if self.shifted else validation_score(metric)])
        if any(name not in chosen["targets"] for name in self.targets):
            return None
        return statistics.fmean(chosen["targets"][name][metric] for name in self.targets)


@dataclass(frozen=True)
class PlannedCell:
    """A cell before its runs are done: the mean of what is read from them."""

    readings: tuple[Reading, ...]
    paper: float | None = None


@dataclass(frozen=True)
class Column:
    """A column: what is read for a row, and which of the row's figures is the paper's."""

    name: str
    readings: Callable[[Row], tuple[Reading, ...]]
    paper: str | None = None
    """the column's name in the paper's table; None: nothing to compare with"""


@dataclass(frozen=True)
class PlannedTable:
    """A table before its runs are done. Fields are those of :class:`Table`."""

    name: str
    title: str
    reference: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], PlannedCell]
    baseline: str | None = None
    averaged: tuple[str, ...] = ()
    axis: Axis | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        reference: str,
        rows: Sequence[Row],
        columns: Sequence[Column],
        *,
        baseline: str | None = None,
        averaged: bool = False,
        notes: Sequence[str] = (),
    ) -> PlannedTable:
        """A table in which each column says what it reads for a row.

        The baseline is ERM's row unless another one is named.
        """
        erm = next((row.name for row in rows if row.method == "erm"), None)
        return cls(
            name,
            title,
            reference,
            tuple(row.name for row in rows),
            tuple(column.name for column in columns),
            {
                (row.name, column.name): PlannedCell(
                    column.readings(row), row.values.get(column.paper) if column.paper else None
                )
                for row in rows
                for column in columns
            },
            baseline=baseline or erm,
            averaged=tuple(column.name for column in columns) if averaged else (),
            notes=tuple(notes),
        )

    def only(self, rows: Sequence[str]) -> PlannedTable:
        """The table with some of its rows."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row in rows),
            cells={place: cell for place, cell in self.cells.items() if place[0] in rows},
            baseline=self.baseline if self.baseline in rows else None,
        )

    def table(
        self,
        seeds: Sequence[int],
        results: Mapping[str, Result],
        failures: Mapping[str, str],
        messages: Mapping[str, Sequence[str]],
    ) -> Table:
        """The table with what is known.

        Args:
            seeds: a value of each cell for each.
            results: by the runs' hashes.
            failures: why runs have failed, by their hashes.
            messages: what else happened to runs, by their hashes.
        """
        notes = dict.fromkeys(self.notes)

        def value(where: str, reading: Reading, seed: int) -> float | None:
            run = replace(reading.config, seed=seed).hash
            for message in messages.get(run, ()):
                notes[f"{where}, seed {seed}: {message}"] = None
            if run in failures:
                notes[f"failed: {where}, seed {seed}: {failures[run]}"] = None
            if run not in results:
                return None
            found = reading.value(results[run])
            if found is None:
                missing = ", ".join(reading.targets)
                notes[f"{where}, seed {seed}: {missing} absent when the run was measured"] = None
            return found

        def cell(where: str, planned: PlannedCell) -> Cell:
            by_seed = [[value(where, r, seed) for r in planned.readings] for seed in seeds]
            return Cell(tuple(mean_of_all(values) for values in by_seed), planned.paper)

        cells = {
            (row, column): cell(row if self.averaged else f"{row}, {column}", planned)
            for (row, column), planned in self.cells.items()
        }
        readings = [one for planned in self.cells.values() for one in planned.readings]
        tasks = [get_task(one.config.task) for one in readings[:1]]
        return Table(
            self.name,
            self.title,
            self.reference,
            self.rows,
            self.columns,
            tuple(seeds),
            cells,
            score=tasks[0].evaluation.title if tasks else "accuracy",
            baseline=self.baseline,
            averaged=self.averaged,
            axis=self.axis,
            notes=tuple(notes),
        )


def runs_of(tables: Iterable[PlannedTable], seeds: Sequence[int]) -> dict[str, RunConfig]:
    """The distinct runs that tables need, by hash: all rows of a seed, then the next seed."""
    configs = [
        reading.config
        for table in tables
        for cell in table.cells.values()
        for reading in cell.readings
    ]
    seeded = (replace(config, seed=seed) for seed in seeds for config in configs)
    return {config.hash: config for config in seeded}


def limited(tables: Sequence[PlannedTable], rows: Sequence[str]) -> tuple[PlannedTable, ...]:
    """Tables with only these rows; those that have none of them are left out.

    Args:
        tables: of a study.
        rows: their names, as the tables have them; empty: all.
    """
    known = dict.fromkeys(row for table in tables for row in table.rows)
    for row in rows:
        if row not in known:
            raise unknown_name("--rows", row, known)
    if not rows:
        return tuple(tables)
    return tuple(table.only(rows) for table in tables if set(rows) & set(table.rows))


def _nothing(settings: Settings) -> tuple[PlannedTable, ...]:
    return ()


@dataclass(frozen=True)
class Study:
    """A part of the paper: its tables, from runs or from a measurement."""

    plan: Callable[[Settings], tuple[PlannedTable, ...]] = _nothing
    """the tables that are read from runs"""
    measure: Callable[[Settings, Path, str], tuple[Table, ...]] | None = None
    """tables that are not read from results, from (settings, folder of all runs, accelerator)"""


@dataclass(frozen=True)
class Rule:
    """A rule of selection that needs no target."""

    choice: str
    """the weights' name in result.json"""
    words: str


RULES = {
    "validation": Rule("best_validation", "weights by validation, as in the paper"),
    "shifted": Rule("best_shifted", "weights by shifted validation"),
    "last": Rule("last", "weights of the last epoch"),
}


def shifted(config: RunConfig) -> Reading:
    """The best accuracy of a run on its shifted validation images."""
    return Reading(config, choice="best_shifted", shifted=True)
