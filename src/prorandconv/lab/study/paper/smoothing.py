"""RandConv with a Gaussian-smoothed kernel, over the kernel's size (Fig. 6)."""

from __future__ import annotations

from ....transforms import EPS
from ...paper import Row
from ..plan import PlannedCell, PlannedTable, Study
from ..scenario import Scenario, Scenarios
from ..settings import Settings
from ..table import Axis

SIZES = (3, 5, 7, 9, 11, 15, 21)

CLAIM = (
    "the paper's claim: with a smoothed kernel accuracy falls less as the kernel grows; its figure "
    "has no numbers, so that there is nothing beside ours; σ_g ~ U(0.01, 1) as in the block"
)


def methods(size: int) -> tuple[Row, ...]:
    """RandConv with a kernel of this size, without and with smoothing."""
    return (
        Row("RandConv", "randconv", {"kernel_sizes": [size]}),
        Row("RandConv + smoothing", "randconv", {"kernel_sizes": [size], "smoothing": [EPS, 1.0]}),
    )


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """A table for each benchmark."""
    scenarios = Scenarios.of(settings, "digits", "pacs")
    return tuple(_table(scenario, scenarios.notes) for scenario in scenarios.usable)


def _table(scenario: Scenario, notes: tuple[str, ...]) -> PlannedTable:
    plain, _ = methods(SIZES[0])
    return PlannedTable(
        f"smoothing-{scenario.name}",
        f"RandConv without and with a smoothed kernel on {scenario.name}: mean accuracy on unseen "
        "domains",
        "Figure 6",
        tuple(row.name for row in methods(SIZES[0])),
        tuple(map(str, SIZES)),
        {
            (row.name, str(size)): PlannedCell(scenario.single(row))
            for size in SIZES
            for row in methods(size)
        },
        baseline=plain.name,
        axis=Axis("kernel size k, pixels", tuple(map(float, SIZES))),
        notes=(CLAIM, *scenario.notes, *notes),
    )


STUDY = Study(plan)
