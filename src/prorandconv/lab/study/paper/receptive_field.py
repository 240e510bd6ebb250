"""A large kernel once against a small kernel again and again (Fig. 1(c) and 5)."""

from __future__ import annotations

from ...paper import Row
from ..plan import PlannedCell, PlannedTable, Reading, Study
from ..scenario import Scenario, Scenarios
from ..settings import Settings
from ..table import Axis

FIELDS = (3, 5, 7, 9, 11, 15, 21)
"""Side of the receptive field: k of one convolution, 2 L + 1 of L convolutions of 3 × 3."""

CLAIM = (
    "the paper's claim: RandConv loses with growing k, the progressive methods lose little with "
    "growing L; its figure has no numbers, so that there is nothing beside ours"
)


def methods(field: int) -> tuple[Row, ...]:
    """The three methods with this receptive field."""
    repeats = (field - 1) // 2
    return (
        Row("RandConv, kernel size k", "randconv", {"kernel_sizes": [field]}),
        Row("Progressive (Same), L times", "progressive", {"repeats": repeats}),
        Row("Pro-RandConv, L times", "pro-randconv", {"repeats": repeats}),
    )


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """A table for each source."""
    scenarios = Scenarios.of(settings, "digits", "pacs")
    return tuple(
        _table(scenario, source, scenarios.notes)
        for scenario in scenarios.usable
        for source in scenario.sources
    )


def _table(scenario: Scenario, source: str, notes: tuple[str, ...]) -> PlannedTable:
    return PlannedTable(
        f"receptive-field-{scenario.name}-{source}",
        f"Receptive field, k of RandConv or 2 L + 1 of L repetitions: mean accuracy on unseen "
        f"domains, trained on {source} of {scenario.name}",
        "Figure 5" if scenario.name == "pacs" else "Figure 1(c)",
        tuple(row.name for row in methods(FIELDS[0])),
        tuple(map(str, FIELDS)),
        {
            (row.name, str(field)): PlannedCell(
                (Reading(scenario.config(row, source), scenario.targets(source)),)
            )
            for field in FIELDS
            for row in methods(field)
        },
        axis=Axis("receptive field k = 2 L + 1, pixels", tuple(map(float, FIELDS))),
        notes=(CLAIM, *scenario.notes, *notes),
    )


STUDY = Study(plan)
