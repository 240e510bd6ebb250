"""A row of a table as lines of text: mean, interval, the paper's figure, gain over the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...study.table import FEWEST, Estimate, Table

MISSING = "–"
MINUS = "−"
PAPER_DIGITS = 2
"""Digits after the point of per cent, as the paper prints them."""
BOLD = "bold: the best mean, and each whose paired 95 % interval to it contains 0"
BOLD_OF_FEW = "bold: the best mean; fewer than three seeds do not tell what is separable from it"


@dataclass(frozen=True)
class Line:
    """One line: a text for each column that has one."""

    kind: Literal["mean", "interval", "paper", "gain", "gain interval"]
    label: str
    texts: Mapping[str, str]


def lines(table: Table, row: str) -> Iterator[Line]:
    """The lines of a row; the first is always there, others only where they say something."""
    columns = {column: Digits.of(table, column) for column in table.shown_columns}
    means = {column: _mean(table, row, column, digits) for column, digits in columns.items()}
    yield Line("mean", row, means)
    ours = {column: table.estimate(row, column) for column in columns}
    gains = {column: table.gain(row, column) for column in columns}
    compared = "gain over" if table.unit == "%" else "difference to"
    single = "single values" if len(table.seeds) < FEWEST else ""
    further: tuple[Line, ...] = (
        Line("interval", single or "95 % interval", _intervals(ours, columns)),
        Line("paper", "paper (difference)", _papers(table, row, columns)),
        Line("gain", f"{compared} {table.baseline}", _gains(gains, columns)),
        Line("gain interval", single or "its 95 % interval", _intervals(gains, columns)),
    )
    yield from (line for line in further if line.texts)


def heading(table: Table) -> str:
    """The title, with the unit, and the paper's table if its figures are here too."""
    unit = f", {table.unit}" if table.unit else ""
    return f"{table.title}{unit}" + (f" ({table.reference})" if table.has_paper else "")


def footnotes(table: Table) -> tuple[str, ...]:
    """How to read the table, and the table's own notes."""
    spread = "mean ± standard deviation over " if len(table.seeds) > 1 else ""
    notes = [f"{spread}{repetitions(table)}"] if table.seeds else []
    if not table.complete:
        values = [value for cell in table.cells.values() for value in cell.values]
        notes.append(f"{values.count(None)} of {len(values)} figures are missing")
    if any(best(table, column) for column in table.shown_columns):
        notes.append(BOLD if len(table.seeds) >= FEWEST else BOLD_OF_FEW)
    if not table.complete and len(table.seeds) >= FEWEST:
        notes.append("two values stand for an interval where no more are known")
    if table.reference and not table.has_paper:
        notes.append(f"set up like the paper's {table.reference}, without figures to compare with")
    return (*notes, *table.notes)


def repetitions(table: Table) -> str:
    """What the values of a cell differ in: seeds, or no more than the time of a measurement."""
    many = "s" if len(table.seeds) > 1 else ""
    if table.unit != "%":
        return f"{len(table.seeds)} measurement{many}"
    return f"seed{many} {', '.join(map(str, table.seeds))}"


def best(table: Table, column: str) -> tuple[str, ...]:
    """The row with the highest mean, and those that are not separable from it.

    None where it is not known that high is good.
    """
    means = {row: found.mean for row in table.rows if (found := table.estimate(row, column))}
    if table.unit != "%" or len(means) < 2:
        return ()
    highest = max(means, key=lambda row: means[row])

    def separable(row: str) -> bool:
        difference = table.difference(highest, row, column)
        if difference is None or difference.interval is None:
            return means[row] < means[highest]
        return not difference.interval[0] <= 0 <= difference.interval[1]

    return tuple(row for row in means if not separable(row))


@dataclass(frozen=True)
class Digits:
    """How many digits a column's figures have after the point."""

    count: int

    @classmethod
    def of(cls, table: Table, column: str) -> Digits:
        """Two for per cent; else as many as its largest and smallest figures need."""
        if table.unit == "%":
            return cls(PAPER_DIGITS)
        figures = [value for row in table.rows for value in table.values(row, column)]
        figures += [table.paper(row, column) for row in table.rows]
        sizes = [abs(figure) for figure in figures if figure]
        if not sizes:
            return cls(0)
        needed = max(2 - _exponent(max(sizes)), 1 - _exponent(min(sizes)))
        return cls(min(max(needed, 0), 6))

    def plain(self, value: float) -> str:
        """The figure.

        Example:
            >>> Digits(1).plain(-0.04), Digits(1).plain(-2.5)
            ('0.0', '−2.5')
        """
        rounded = round(value, self.count) + 0.0
        return f"{rounded:.{self.count}f}".replace("-", MINUS)

    def signed(self, value: float) -> str:
        """The figure with its sign, also when it is positive."""
        shown = self.plain(value)
        return shown if shown.startswith(MINUS) or float(shown) == 0 else f"+{shown}"

    def interval(self, ends: Sequence[float]) -> str:
        """Both ends of an interval."""
        return f"[{', '.join(map(self.plain, ends))}]"


def _exponent(size: float) -> int:
    return math.floor(math.log10(size))


def _mean(table: Table, row: str, column: str, digits: Digits) -> str:
    found = table.estimate(row, column)
    if found is None:
        return MISSING
    spread = "" if found.deviation is None else f" ± {digits.plain(found.deviation)}"
    part = f" ({found.seeds} of {len(table.seeds)})" if found.seeds < len(table.seeds) else ""
    return f"{digits.plain(found.mean)}{spread}{part}"


def _intervals(
    estimates: Mapping[str, Estimate | None], columns: Mapping[str, Digits]
) -> dict[str, str]:
    """Intervals; where there are only two values, these."""
    shown = {}
    for column, estimate in estimates.items():
        if estimate is not None and estimate.interval is not None:
            shown[column] = columns[column].interval(estimate.interval)
        elif estimate is not None and estimate.seeds > 1:
            shown[column] = "; ".join(map(columns[column].plain, estimate.values))
    return shown


def _papers(table: Table, row: str, columns: Mapping[str, Digits]) -> dict[str, str]:
    shown = {}
    for column, digits in columns.items():
        paper, difference = table.paper(row, column), table.to_paper(row, column)
        if paper is not None:
            shown_difference = "" if difference is None else f" ({digits.signed(difference)})"
            shown[column] = f"{digits.plain(paper)}{shown_difference}"
    return shown


def _gains(
    estimates: Mapping[str, Estimate | None], columns: Mapping[str, Digits]
) -> dict[str, str]:
    return {
        column: columns[column].signed(estimate.mean)
        for column, estimate in estimates.items()
        if estimate is not None
    }
