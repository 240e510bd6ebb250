"""A table for people: one grid of texts, which all formats print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..study.table import FEWEST, Estimate, Table

MISSING = "–"
MINUS = "−"
PAPER_DIGITS = 2
"""Digits after the point of per cent, as the paper prints them."""
BOLD = "bold: the best mean, and each whose paired 95 % interval to it contains 0"
BOLD_OF_FEW = "bold: the best mean; fewer than three seeds are too few to test significance"


@dataclass(frozen=True)
class Line:
    """A line of a grid."""

    label: str
    cells: tuple[str, ...]
    """in the order of the grid's columns; empty where there is nothing to say"""
    bold: frozenset[int] = frozenset()
    """places of cells in bold"""
    minor: bool = False
    """whether it says more about the line above it"""
    ruled: bool = False
    """whether a rule stands above it, where there are rules"""


@dataclass(frozen=True)
class Grid:
    """A table as texts."""

    head: tuple[str, ...]
    """what the labels are, and the columns"""
    lines: tuple[Line, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    words: int = 0
    """number of columns after the labels that hold words, which stand on the left"""

    @classmethod
    def of(cls, head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> Grid:
        """A grid of plain rows, each with its label first."""
        lines = tuple(Line(label, tuple(cells)) for label, *cells in rows)
        return cls(tuple(head), lines, words=words)

    @property
    def groups(self) -> list[list[Line]]:
        """Each line with the minor ones below it."""
        made: list[list[Line]] = []
        for line in self.lines:
            if line.minor and made:
                made[-1].append(line)
            else:
                made.append([line])
        return made


def grid_of(table: Table, *, full: bool = True) -> Grid:
    """A table as texts: a line of means for each row.

    Args:
        table: the figures.
        full: add lines of intervals, the paper's figures and gains, as far as they are known.
    """
    columns = table.shown_columns
    digits = {column: Digits.of(table, column) for column in columns}
    highest = {column: best(table, column) for column in columns}
    compared = "gain over" if table.unit == "%" else "difference to"
    few = "single values" if len(table.seeds) < FEWEST else ""
    names = (
        few or "95 % interval",
        "paper (difference)",
        f"{compared} {table.baseline}",
        few or "its 95 % interval",
    )
    lines: list[Line] = []
    for row in table.rows:
        texts = [_texts(table, row, column, digits[column]) for column in columns]
        means, *further = zip(*texts, strict=True) if texts else [()]
        bold = frozenset(place for place, column in enumerate(columns) if row in highest[column])
        lines.append(Line(row, means, bold))
        lines += [
            Line(name, cells, minor=True)
            for name, cells in zip(names, further, strict=False)
            if full and any(cells)
        ]
    head = ("", *map(table.heading_of, columns))
    return Grid(head, tuple(lines), heading(table), footnotes(table))


def _texts(table: Table, row: str, column: str, digits: Digits) -> tuple[str, ...]:
    """Mean, interval, the paper's figure, gain, and its interval."""
    ours, gain = table.estimate(row, column), table.gain(row, column)
    paper, difference = table.paper(row, column), table.to_paper(row, column)
    mean, theirs = MISSING, "" if paper is None else digits.plain(paper)
    if ours is not None:
        part = f" ({ours.seeds} of {len(table.seeds)})" if ours.seeds < len(table.seeds) else ""
        mean = f"{digits.with_deviation(ours)}{part}"
    if difference is not None:
        theirs += f" ({digits.signed(difference)})"
    gained = "" if gain is None else digits.signed(gain.mean)
    return mean, digits.spread(ours), theirs, gained, digits.spread(gain)


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
    means = {row: one.mean for row in table.rows if (one := table.estimate(row, column))}
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
        exponents = [math.floor(math.log10(abs(figure))) for figure in figures if figure]
        if not exponents:
            return cls(0)
        return cls(min(max(2 - max(exponents), 1 - min(exponents), 0), 6))

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

    def with_deviation(self, estimate: Estimate) -> str:
        """Mean and standard deviation, as far as there is one."""
        spread = "" if estimate.deviation is None else f" ± {self.plain(estimate.deviation)}"
        return f"{self.plain(estimate.mean)}{spread}"

    def spread(self, estimate: Estimate | None) -> str:
        """The interval; where there are only two values, these; else nothing."""
        if estimate is not None and estimate.interval is not None:
            return self.interval(estimate.interval)
        several = estimate is not None and estimate.seeds > 1
        return "; ".join(map(self.plain, estimate.values)) if estimate and several else ""
