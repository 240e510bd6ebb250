"""Traditional augmentations beside Pro-RandConv (Tables 9 and 10)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Ground, Grounds
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """By target on a benchmark with one source, else by source."""
    grounds = Grounds.of(settings, "digits", "pacs")
    return tuple(_table(ground, grounds.notes) for ground in grounds.usable)


def _table(ground: Ground, notes: tuple[str, ...]) -> PlannedTable:
    alone = len(ground.sources) == 1
    reference = "Table 9" if alone else "Table 10"
    return PlannedTable.of(
        f"traditional-{ground.name}",
        f"Traditional augmentation on {ground.name}, by {'target' if alone else 'source'}",
        reference,
        ground.with_figures(rows_of("Table 9"), reference),
        ground.by_target() if alone else ground.by_source(),
        averaged=True,
        notes=(*ground.notes, *notes),
    )


STUDY = Study("six traditional augmentations and ours, Digits and PACS", "Tables 9 and 10", plan)
