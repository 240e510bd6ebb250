"""A table for people, one grid of texts, and its forms: terminal, Markdown, LaTeX; and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table as TerminalTable
from rich.text import Text

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


def terminal(grid: Grid, *, boxed: bool = False) -> TerminalTable:
    """A grid for rich, which reads no markup in it; labels are never cut or wrapped.

    Args:
        grid: the texts.
        boxed: with a rule below the head.
    """
    edge = box.SIMPLE_HEAD if boxed else None
    shown = TerminalTable(box=edge, padding=(0, 1, 0, 0), pad_edge=False)
    labels = [f"  {line.label}" if line.minor else line.label for line in grid.lines]
    width = max(map(len, [grid.head[0], *labels]), default=0)
    shown.add_column(Text(grid.head[0]), no_wrap=True, min_width=width)
    for place, name in enumerate(grid.head[1:]):
        if place < grid.words:
            longest = max((len(line.cells[place]) for line in grid.lines), default=0)
            shown.add_column(Text(name), overflow="fold", min_width=min(longest, 12))
        else:
            longest = max(map(len, name.split()), default=0)
            shown.add_column(Text(name), justify="right", min_width=longest)
    minor = any(line.minor for line in grid.lines)
    for label, line in zip(labels, grid.lines, strict=True):
        if line.ruled or (minor and not line.minor):
            shown.add_section()
        styles = ["bold" if place in line.bold else "" for place in range(len(line.cells))]
        dim = "dim" if line.minor else ""
        shown.add_row(Text(label, dim), *map(Text, line.cells, [dim or style for style in styles]))
    return shown


def print_grid(out: Console, grid: Grid) -> None:
    """Print a boxed grid under its title, and its notes."""
    out.print(Text(grid.title, "bold"))
    out.print(terminal(grid, boxed=True))
    if grid.notes:
        out.print(Text("\n".join(grid.notes), "dim"), end="\n\n")


def print_tables(out: Console, tables: Iterable[Table], *, full: bool) -> None:
    """Print tables with their headings and notes.

    Args:
        out: where to.
        tables: what to print.
        full: whether intervals, the paper's figures and gains follow the means, a line each.
    """
    for table in tables:
        print_grid(out, grid_of(table, full=full))
    if not full:
        out.print("--full adds intervals, the paper's figures and gains", style="dim")


MARKDOWN_SIGNS = r"\`*_[]<>&#|~"
"""What Markdown would take for its own."""
FIGURES = re.compile(r"[\d .,;±−–+()\[\]of]*")
"""Cells that Markdown shows as they are."""


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, in one line.

    Example:
        >>> print(escaped("L_max <b>"))
        L\_max \<b\>
    """
    return "".join(f"\\{c}" if c in MARKDOWN_SIGNS else c for c in " ".join(text.split()))


def code(text: str) -> str:
    """Text as code in a line, whatever is in it.

    Example:
        >>> print(code("a `b` c"))
        `` a `b` c ``
    """
    plain = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    space, fence = " " if longest else "", "`" * (longest + 1)
    return f"{fence}{space}{plain}{space}{fence}"


def markdown(grid: Grid) -> str:
    """A grid in Markdown, with its notes as a list below; labels on the left, figures on the right.

    Example:
        >>> print(markdown(Grid.of(["class", "usps"], [["0", "97"]])), end="")
        | class | usps |
        | --- | ---: |
        | 0 | 97 |
    """

    def row(*cells: str) -> str:
        return f"| {' | '.join(cells)} |"

    rules = ["---"] * (1 + grid.words) + ["---:"] * (len(grid.head) - 1 - grid.words)
    parts = [row(*map(escaped, grid.head)), row(*rules)]
    for line in grid.lines:
        cells = (cell if FIGURES.fullmatch(cell) else escaped(cell) for cell in line.cells)
        cells = (f"**{c}**" if place in line.bold else c for place, c in enumerate(cells))
        parts.append(row("&emsp;" * line.minor + escaped(line.label), *cells))
    notes = ["", *(f"- {escaped(note)}" for note in grid.notes)] if grid.notes else []
    return "\n".join([*parts, *notes]) + "\n"


LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "{}&%$#_"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "…": r"\dots{}",
    "×": r"$\times$",
    "→": r"$\to$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "²": r"$^2$",
    "σ": r"$\sigma$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "Δ": r"$\Delta$",
    "λ": r"$\lambda$",
    "̄": "",
}
"""What each sign is in LaTeX; others stand for themselves."""


def latex(grid: Grid, name: str) -> str:
    r"""A ``table`` that needs ``\usepackage{booktabs}`` and nothing else.

    Args:
        grid: the texts.
        name: of the table; its label is made of it.
    """

    def row(*cells: str) -> str:
        return " & ".join(cells) + r" \\"

    parts = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{in_latex(grid.title)}. {'; '.join(map(in_latex, grid.notes))}.}}",
        rf"\label{{tab:{'-'.join(re.findall('[A-Za-z0-9]+', name)) or 'table'}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(grid.head) - 1)}}}",
        r"\toprule",
        row(*map(in_latex, grid.head)),
        r"\midrule",
    ]
    for number, line in enumerate(grid.lines):
        cells = [in_latex(cell) for cell in line.cells]
        if line.minor:
            small = (rf"\footnotesize {cell}" if cell else "" for cell in cells)
            parts.append(row(rf"\quad\footnotesize {in_latex(line.label)}", *small))
            continue
        parts += [r"\addlinespace"] * (number > 0)
        bold = (rf"\textbf{{{c}}}" if place in line.bold else c for place, c in enumerate(cells))
        parts.append(row(in_latex(line.label), *bold))
    return "\n".join([*parts, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def in_latex(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    Example:
        >>> print(in_latex("σ_w: 95 %"))
        $\sigma$\_w: 95 \%
    """
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in " ".join(text.split()))


FIELDS = (
    *("table", "row", "column", "unit", "seed", "value", "seeds", "mean", "deviation", "low"),
    *("high", "paper", "to_paper", "baseline", "gain", "gain_low", "gain_high"),
)
"""Of the CSV."""


def comma_separated(table: Table) -> str:
    """CSV, one value a line, in full precision; from ``seeds`` on, a summary of row and column.

    The average is a column like the others. What is missing is an empty field.
    """
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(FIELDS)
    for row in table.rows:
        for column in table.shown_columns:
            ours, gain = table.estimate(row, column), table.gain(row, column)
            own = (None, None) if ours is None else (ours.mean, ours.deviation)
            summary = [
                0 if ours is None else ours.seeds,
                *(*own, *_ends(ours)),
                *(table.paper(row, column), table.to_paper(row, column), table.baseline),
                *(None if gain is None else gain.mean, *_ends(gain)),
            ]
            head = [table.name, row, table.heading_of(column), table.unit]
            for seed, value in zip(table.seeds, table.values(row, column), strict=True):
                write.writerow([*head, seed, value, *summary])
    return out.getvalue()


def _ends(estimate: Estimate | None) -> tuple[float | None, float | None]:
    return (None, None) if estimate is None else estimate.interval or (None, None)
