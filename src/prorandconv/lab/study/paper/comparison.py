"""RandConv against Pro-RandConv over benchmarks, networks and settings (Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ...paper import Row, rows_of
from ..plan import PlannedCell, PlannedTable, Study
from ..scenario import Scenario, Scenarios
from ..settings import Settings

NETWORKS = ("alexnet", "resnet18", "resnet50")


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """A table for each benchmark, with a pair of columns for each network."""
    scenarios = Scenarios.of(settings, "pacs", "officehome", "vlcs", networks=NETWORKS)
    by_benchmark = groupby(scenarios.usable, key=lambda scenario: scenario.name)
    return tuple(_table(name, list(own), scenarios.notes) for name, own in by_benchmark)


def _table(name: str, scenarios: Sequence[Scenario], notes: tuple[str, ...]) -> PlannedTable:
    compared = [row for row in rows_of("Table 1") if row.method in ("randconv", "pro-randconv")]
    cells: dict[tuple[str, str], PlannedCell] = {}
    for scenario in scenarios:
        for row in scenario.with_figures(compared, "Table 4"):
            for column, readings in (("single", scenario.single), ("multi", scenario.multi)):
                paper = row.values.get(scenario.comparable(column) or "")
                where = (row.name, f"{scenario.network} {column}")
                cells[where] = PlannedCell(readings(row), paper)
    return PlannedTable(
        name,
        f"RandConv and Pro-RandConv on {name}: mean accuracy over all sources (single) and over "
        "all targets with the other domains as sources (multi)",
        "Table 4",
        tuple(row.name for row in compared),
        tuple(dict.fromkeys(column for _, column in cells)),
        cells,
        baseline=_name_of("randconv", compared),
        notes=(*scenarios[0].notes, *notes),
    )


def _name_of(method: str, rows: Sequence[Row]) -> str:
    return next(row.name for row in rows if row.method == method)


STUDY = Study(plan)
