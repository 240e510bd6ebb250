"""PACS: trained on three domains, measured on the fourth (Table 3)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Scenarios
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The five methods by target, for each network; the paper has no progressive row here."""
    scenarios = Scenarios.of(settings, "pacs", networks=("resnet18", "resnet50"))
    return tuple(
        PlannedTable.of(
            f"{scenario.name}-multi-{scenario.network}",
            f"Trained on all domains of {scenario.name} but one with {scenario.network}; accuracy "
            "on that one",
            "Table 3",
            scenario.with_figures(rows_of("Table 1"), "Table 3"),
            scenario.by_left_out(),
            averaged=True,
            notes=scenario.notes,
        )
        for scenario in scenarios.usable
    )


STUDY = Study(plan)
