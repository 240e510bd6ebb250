"""The forms of a grid: terminal, Markdown, LaTeX; and of a table of figures, CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table as TerminalTable
from rich.text import Text

from ..study.table import Estimate, Table
from .grid import Grid, grid_of


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
