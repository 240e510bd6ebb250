"""PACS: trained on three domains, measured on the fourth (Table 3)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Grounds
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The five methods by target, for each network; the paper has no progressive row here."""
    grounds = Grounds.of(settings, "pacs", networks=("resnet18", "resnet50"))
    return tuple(
        PlannedTable.of(
            f"{ground.name}-multi-{ground.network}",
            f"Trained on all domains of {ground.name} but one with {ground.network}; accuracy on "
            "that one",
            "Table 3",
            ground.with_figures(rows_of("Table 1"), "Table 3"),
            ground.by_left_out(),
            averaged=True,
            notes=ground.notes,
        )
        for ground in grounds.usable
    )


STUDY = Study("five methods on PACS, one domain left out", "Table 3", plan)
