"""A table as CSV: a line for each row, column and seed."""

from __future__ import annotations

import csv
import io

from ...study.table import Estimate, Table

FIELDS = (
    "table",
    "row",
    "column",
    "unit",
    "seed",
    "value",
    "seeds",
    "mean",
    "deviation",
    "low",
    "high",
    "paper",
    "to_paper",
    "baseline",
    "gain",
    "gain_low",
    "gain_high",
)


def comma_separated(table: Table) -> str:
    """One value a line, in full precision; from ``seeds`` on, the summary of its row and column.

    The average is a column like the others. What is missing is an empty field.
    """
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(FIELDS)
    for row in table.rows:
        for column in table.shown_columns:
            summary = _summary(table, row, column)
            for seed, value in zip(table.seeds, table.values(row, column), strict=True):
                write.writerow([table.name, row, column, table.unit, seed, value, *summary])
    return out.getvalue()


def _summary(table: Table, row: str, column: str) -> list[float | str | None]:
    ours, gain = table.estimate(row, column), table.gain(row, column)
    return [
        0 if ours is None else ours.seeds,
        None if ours is None else ours.mean,
        None if ours is None else ours.deviation,
        *_ends(ours),
        table.paper(row, column),
        table.to_paper(row, column),
        table.baseline,
        None if gain is None else gain.mean,
        *_ends(gain),
    ]


def _ends(estimate: Estimate | None) -> tuple[float | None, float | None]:
    if estimate is None or estimate.interval is None:
        return None, None
    return estimate.interval
