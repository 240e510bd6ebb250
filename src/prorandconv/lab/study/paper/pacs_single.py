"""PACS: trained on one domain, measured on the three others (Table 2)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Scenarios
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The five methods by source, for each network; by source, the paper has ResNet-18 only."""
    scenarios = Scenarios.of(settings, "pacs", networks=("resnet18", "resnet50"))
    return tuple(
        PlannedTable.of(
            f"{scenario.name}-single-{scenario.network}",
            f"Trained on one domain of {scenario.name} with {scenario.network}; mean accuracy on "
            "the other domains, by source",
            "Table 2",
            scenario.with_figures(rows_of("Table 1"), "Table 2"),
            scenario.by_source(),
            averaged=True,
            notes=scenario.notes,
        )
        for scenario in scenarios.usable
    )


STUDY = Study(plan)
