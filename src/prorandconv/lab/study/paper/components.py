"""What each part of the block contributes (Table 8)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import Column, PlannedTable, Study
from ..scenario import Scenario, Scenarios
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """All 16 rows: single-source on each benchmark, and multi-source where it has several."""
    scenarios = Scenarios.of(settings, "digits", "pacs")
    table = PlannedTable.of(
        "components",
        "Parts of the block: mean accuracy on unseen domains",
        "Table 8",
        rows_of("Table 8"),
        [column for scenario in scenarios.usable for column in _columns(scenario)],
        notes=scenarios.all_notes,
    )
    return (table,)


def _columns(scenario: Scenario) -> list[Column]:
    if len(scenario.sources) == 1:
        return [Column(scenario.name, scenario.single, scenario.published(scenario.name))]
    return [scenario.column("single", scenario.single), scenario.column("multi", scenario.multi)]


STUDY = Study(plan)
