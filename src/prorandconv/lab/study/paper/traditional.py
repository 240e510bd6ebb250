"""Traditional augmentations beside Pro-RandConv (Tables 9 and 10)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Scenario, Scenarios
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """By target on a benchmark with one source, else by source."""
    scenarios = Scenarios.of(settings, "digits", "pacs")
    return tuple(_table(scenario, scenarios.notes) for scenario in scenarios.usable)


def _table(scenario: Scenario, notes: tuple[str, ...]) -> PlannedTable:
    alone = len(scenario.sources) == 1
    reference = "Table 9" if alone else "Table 10"
    return PlannedTable.of(
        f"traditional-{scenario.name}",
        f"Traditional augmentation on {scenario.name}, by {'target' if alone else 'source'}",
        reference,
        scenario.with_figures(rows_of("Table 9"), reference),
        scenario.by_target() if alone else scenario.by_source(),
        averaged=True,
        notes=(*scenario.notes, *notes),
    )


STUDY = Study(plan)
