"""What each part of the block contributes (Table 8)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import Column, PlannedTable, Study
from ..scenario import Ground, Grounds
from ..settings import Settings


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """All 16 rows: single-source on each benchmark, and multi-source where it has several."""
    grounds = Grounds.of(settings, "digits", "pacs")
    table = PlannedTable.of(
        "components",
        "Parts of the block: mean accuracy on unseen domains",
        "Table 8",
        rows_of("Table 8"),
        [column for ground in grounds.usable for column in _columns(ground)],
        notes=[*(note for ground in grounds.usable for note in ground.notes), *grounds.notes],
    )
    return (table,)


def _columns(ground: Ground) -> list[Column]:
    if len(ground.sources) == 1:
        return [Column(ground.name, ground.single, ground.published(ground.name))]
    return [
        Column(f"{ground.name} single", ground.single, ground.published(f"{ground.name}_single")),
        Column(f"{ground.name} multi", ground.multi, ground.published(f"{ground.name}_multi")),
    ]


STUDY = Study("all 16 rows of the component table", "Table 8", plan)
