"""Which images of a mini-batch the network learns from (Table 7)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import Column, PlannedTable, Study
from ..scenario import Scenarios
from ..settings import Settings

BASELINE = "only X_0 (baseline)"


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """RandConv and eight strategies: in- and out-of-domain accuracy on each benchmark."""
    scenarios = Scenarios.of(settings, "digits", "pacs")
    columns = [
        column
        for scenario in scenarios.usable
        for column in (
            Column(
                f"{scenario.name} in", scenario.in_domain, scenario.published(f"{scenario.name}_in")
            ),
            Column(
                f"{scenario.name} out", scenario.single, scenario.published(f"{scenario.name}_out")
            ),
        )
    ]
    table = PlannedTable.of(
        "selection",
        "Images to learn from: accuracy in the source's own domain and on unseen domains",
        "Table 7",
        rows_of("Table 7"),
        columns,
        baseline=BASELINE,
        notes=[
            *(note for scenario in scenarios.usable for note in scenario.notes),
            *scenarios.notes,
        ],
    )
    return (table,)


STUDY = Study(plan)
