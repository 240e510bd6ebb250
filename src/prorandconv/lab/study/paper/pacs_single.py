"""PACS: trained on one domain, measured on the three others (Table 2)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Grounds
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The five methods by source, for each network; by source, the paper has ResNet-18 only."""
    grounds = Grounds.of(settings, "pacs", networks=("resnet18", "resnet50"))
    return tuple(
        PlannedTable.of(
            f"{ground.name}-single-{ground.network}",
            f"Trained on one domain of {ground.name} with {ground.network}; mean accuracy on the "
            "other domains, by source",
            "Table 2",
            ground.with_figures(rows_of("Table 1"), "Table 2"),
            ground.by_source(),
            averaged=True,
            notes=ground.notes,
        )
        for ground in grounds.usable
    )


STUDY = Study("five methods on PACS, by the one source", "Table 2", plan)
