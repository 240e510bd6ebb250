"""RandConv with a Gaussian-smoothed kernel, over the kernel's size (Fig. 6)."""

from __future__ import annotations

from ....block_transform import EPS
from ...paper import Row
from ..plan import PlannedCell, PlannedTable, Study
from ..scenario import Ground, Grounds
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
    grounds = Grounds.of(settings, "digits", "pacs")
    return tuple(_table(ground, grounds.notes) for ground in grounds.usable)


def _table(ground: Ground, notes: tuple[str, ...]) -> PlannedTable:
    plain, _ = methods(SIZES[0])
    return PlannedTable(
        f"smoothing-{ground.name}",
        f"RandConv without and with a smoothed kernel on {ground.name}: mean accuracy on unseen "
        "domains",
        "Figure 6",
        tuple(row.name for row in methods(SIZES[0])),
        tuple(map(str, SIZES)),
        {
            (row.name, str(size)): PlannedCell(ground.single(row))
            for size in SIZES
            for row in methods(size)
        },
        baseline=plain.name,
        axis=Axis("kernel size k, pixels", tuple(map(float, SIZES))),
        notes=(CLAIM, *ground.notes, *notes),
    )


STUDY = Study("RandConv with and without a Gaussian-smoothed kernel", "Figure 6", plan)
