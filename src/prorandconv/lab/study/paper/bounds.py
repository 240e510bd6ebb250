"""What keeps the plain progressive variants from growing without limit."""

from __future__ import annotations

from dataclasses import replace

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Scenarios
from ..settings import Settings

BOUNDS = {"clamp": "clamp", "standardise": "standardise", "no bound": None}


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """Both variants with each bound; a run whose loss is no longer finite counts as failed."""
    scenario = Scenarios.of(settings, "digits").usable[0]
    variants = [row for row in rows_of("Table 1") if row.method == "progressive"]
    default = BOUNDS["clamp"]
    rows = [
        replace(
            row,
            name=f"{row.name}, {name}",
            options={**row.options, **({} if bound == default else {"bound": bound})},
        )
        for row in scenario.with_figures(variants, "Table 1")
        for name, bound in BOUNDS.items()
    ]
    table = PlannedTable.of(
        "bounds",
        f"Bounds of the progressive variants, trained on {scenario.sources[0]} of {scenario.name}",
        "Table 1",
        rows,
        scenario.by_target(),
        averaged=True,
        notes=(
            "the paper does not say how its progressive variants are bounded: its figures are "
            "beside each bound",
            *scenario.notes,
        ),
    )
    return (table,)


STUDY = Study(plan)
