"""Which images of a mini-batch the network learns from (Table 7)."""

from __future__ import annotations

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Scenarios
from ..settings import Settings

BASELINE = "only X_0 (baseline)"


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """RandConv and eight strategies: in- and out-of-domain accuracy on each benchmark."""
    scenarios = Scenarios.of(settings, "digits", "pacs")
    columns = [
        scenario.column(kind, readings)
        for scenario in scenarios.usable
        for kind, readings in (("in", scenario.in_domain), ("out", scenario.single))
    ]
    table = PlannedTable.of(
        "selection",
        "Images to learn from: accuracy in the source's own domain and on unseen domains",
        "Table 7",
        rows_of("Table 7"),
        columns,
        baseline=BASELINE,
        notes=scenarios.all_notes,
    )
    return (table,)


STUDY = Study(plan)
