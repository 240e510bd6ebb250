"""What a study is: tables whose cells are read from runs, and the runs they need."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..errors import unknown_name
from ..paper import ALL, Row
from ..run.config import RunConfig
from ..run.stored import Result, selected, validation_score
from ..tasks import get_task
from .table import Axis, Cell, Table, mean_of_all


@dataclass(frozen=True)
class Rule:
    """A rule of model selection that needs no target."""

    choice: str
    """the weights' name in result.json"""
    words: str


RULES = {
    "validation": Rule("best_validation", "weights by validation, as in the paper"),
    "shifted": Rule("best_shifted", "weights by shifted validation"),
    "last": Rule("last", "weights of the last epoch"),
}


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


def shifted(config: RunConfig) -> Reading:
    """The best accuracy of a run on its shifted validation images."""
    return Reading(config, choice="best_shifted", shifted=True)


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
class TablePlan:
    """A table before its runs are done. Fields are those of :class:`Table`."""

    name: str
    title: str
    reference: str
    rows: tuple[Row, ...]
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
        rows: Iterable[Row],
        columns: Iterable[Column],
        *,
        baseline: str | None = None,
        averaged: bool = False,
        axis: Axis | None = None,
        notes: Iterable[str] = (),
    ) -> TablePlan:
        """A table of rows by columns; its baseline is ERM's row unless another one is named."""
        rows, columns = tuple(rows), tuple(columns)
        names = tuple(column.name for column in columns)
        erm = next((row.name for row in rows if row.method == "erm"), None)
        cells = {
            (row.name, column.name): PlannedCell(
                column.readings(row), row.values.get(column.paper) if column.paper else None
            )
            for row in rows
            for column in columns
        }
        averages = names if averaged else ()
        first = baseline or erm
        return cls(name, title, reference, rows, names, cells, first, averages, axis, tuple(notes))

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Whatever its cells are read from."""
        return tuple(reading for cell in self.cells.values() for reading in cell.readings)

    def only(self, wanted: Sequence[str]) -> TablePlan:
        """The table with the rows of these names or methods."""
        rows = tuple(row for row in self.rows if {row.name, row.method} & set(wanted))
        names = {row.name for row in rows}
        return replace(
            self,
            rows=rows,
            cells={place: cell for place, cell in self.cells.items() if place[0] in names},
            baseline=self.baseline if self.baseline in names else None,
        )


def limited(tables: Sequence[TablePlan], wanted: Sequence[str]) -> tuple[TablePlan, ...]:
    """Tables with only these rows; those that have none of them are left out.

    Args:
        tables: of a study.
        wanted: names of rows or of methods; empty, or with ``"all"`` among them: every row.
    """
    known = dict.fromkeys(row.name for table in tables for row in table.rows)
    known |= dict.fromkeys(row.method for table in tables for row in table.rows)
    for name in wanted:
        if name not in (*known, ALL):
            raise unknown_name("--rows", name, (*known, ALL))
    if not wanted or ALL in wanted:
        return tuple(tables)
    return tuple(table for table in (one.only(wanted) for one in tables) if table.rows)


@dataclass(frozen=True)
class Known:
    """What is known of the runs of a plan, by their hashes."""

    results: dict[str, Result] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """why runs have no result that can be used"""
    messages: dict[str, Sequence[str]] = field(default_factory=dict)
    """what else happened to runs"""


@dataclass(frozen=True)
class Plan:
    """The tables of a study, and their runs, each hashed once."""

    tables: tuple[TablePlan, ...]
    seeds: tuple[int, ...]

    @cached_property
    def keys(self) -> dict[tuple[RunConfig, int], str]:
        """The hash of each run, by its config with any seed, and its seed."""
        return {place: config.hash for place, config in self._seeded.items()}

    @cached_property
    def runs(self) -> dict[str, RunConfig]:
        """The distinct runs by hash: all rows of a seed, then the next seed."""
        return {self.keys[place]: config for place, config in self._seeded.items()}

    @cached_property
    def _seeded(self) -> dict[tuple[RunConfig, int], RunConfig]:
        configs = dict.fromkeys(one.config for table in self.tables for one in table.readings)
        return {(one, seed): replace(one, seed=seed) for seed in self.seeds for one in configs}

    def table(self, planned: TablePlan, known: Known) -> Table:
        """A table with what is known."""
        notes = dict.fromkeys(planned.notes)

        def value(where: str, reading: Reading, seed: int) -> float | None:
            run = self.keys[reading.config, seed]
            for message in known.messages.get(run, ()):
                notes[f"{where}, seed {seed}: {message}"] = None
            if run in known.failures:
                notes[f"failed: {where}, seed {seed}: {known.failures[run]}"] = None
            if run not in known.results:
                return None
            figure = reading.value(known.results[run])
            if figure is None:
                missing = ", ".join(reading.targets)
                notes[f"{where}, seed {seed}: {missing} absent when the run was measured"] = None
            return figure

        def cell(where: str, one: PlannedCell) -> Cell:
            by_seed = [[value(where, r, seed) for r in one.readings] for seed in self.seeds]
            return Cell(tuple(map(mean_of_all, by_seed)), one.paper)

        cells = {
            (row, column): cell(row if planned.averaged else f"{row}, {column}", one)
            for (row, column), one in planned.cells.items()
        }
        tasks = [get_task(one.config.task) for one in planned.readings[:1]]
        return Table(
            planned.name,
            planned.title,
            planned.reference,
            tuple(row.name for row in planned.rows),
            planned.columns,
            self.seeds,
            cells,
            score=tasks[0].evaluation.title if tasks else "accuracy",
            baseline=planned.baseline,
            averaged=planned.averaged,
            axis=planned.axis,
            notes=tuple(notes),
        )
