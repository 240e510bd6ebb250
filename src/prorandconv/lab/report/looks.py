"""What a method is called and how it is drawn, the same in every table, plot and legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from ..paper import label
from ..study.table import Table
from .compare import Comparison


@dataclass(frozen=True)
class Look:
    """A colour, and what tells a method from the others without colour."""

    colour: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]


LOOKS = {
    "ERM": Look("#8c8c8c", "o", (0, (4, 2))),
    "RandConv": Look("#e69f00", "^", (0, (6, 1, 1, 1))),
    "Progressive (Diff)": Look("#56b4e9", "D", (0, (3, 1, 1, 1))),
    "Progressive (Same)": Look("#b35900", "v", (0, (1, 1))),
    "Pro-RandConv": Look("#0072b2", "s", "-"),
}
"""By label. Mostly Okabe and Ito's colours; these five stay apart for the colour-blind."""
OTHERS = (
    Look("#009e73", "P", "-"),
    Look("#cc79a7", "X", (0, (6, 1, 1, 1))),
)
"""Of what has no look of its own, before the looks that its table leaves free."""


def looks(rows: Sequence[str]) -> dict[str, Look]:
    """A look for each row of a table or plot: its own, or one that no other row has, if any."""
    free = [*OTHERS, *(look for name, look in LOOKS.items() if name not in rows)]
    others = cycle(free)
    return {row: LOOKS[row] if row in LOOKS else next(others) for row in rows}


def labelled(table: Table) -> Table:
    """The table with the labels of its rows; as it is if two rows would be called the same."""
    names = {row: label(row) for row in table.rows}
    if len(set(names.values())) < len(names):
        return table
    return replace(
        table,
        rows=tuple(names.values()),
        cells={(names[row], column): cell for (row, column), cell in table.cells.items()},
        baseline=None if table.baseline is None else names.get(table.baseline, table.baseline),
    )


def labelled_rows(comparison: Comparison) -> Comparison:
    """The comparison with the labels of its rows; as it is if two would be called the same."""
    names = {row: label(row) for row in comparison.rows}
    if len(set(names.values())) < len(names):
        return comparison
    return replace(
        comparison,
        rows={names[row]: seeds for row, seeds in comparison.rows.items()},
        baseline=None if comparison.baseline is None else names[comparison.baseline],
    )
