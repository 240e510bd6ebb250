"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table as TerminalTable
from rich.text import Text

from ...study.table import Table
from .lines import Line, best, footnotes, heading, lines


def print_tables(out: Console, tables: Iterable[Table], *, full: bool) -> None:
    """Print tables with their headings and notes.

    Args:
        out: where to.
        tables: what to print.
        full: whether intervals, the paper's figures and gains follow the means, a line each.
    """
    for table in tables:
        out.print(Text(heading(table), "bold"))
        out.print(terminal_table(table, full=full))
        out.print(Text("\n".join(footnotes(table)), "dim"), end="\n\n")
    if not full:
        out.print("--full adds intervals, the paper's figures and gains", style="dim")


def terminal_table(table: Table, *, full: bool) -> TerminalTable:
    """The rows; a column's best means are bold, and names are never cut or wrapped."""
    rows = {
        row: [line for line in lines(table, row) if full or line.kind == "mean"]
        for row in table.rows
    }
    labels = [_label(line) for found in rows.values() for line in found]
    shown = TerminalTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    shown.add_column("", no_wrap=True, min_width=max(map(len, labels), default=0))
    for column in table.shown_columns:
        longest = max(map(len, column.split()), default=0)
        shown.add_column(column, justify="right", min_width=longest)
    highest = {column: best(table, column) for column in table.shown_columns}
    for row, found in rows.items():
        bold = {column for column, best_rows in highest.items() if row in best_rows}
        for line in found:
            shown.add_row(*_cells(table, line, bold))
        if full:
            shown.add_section()
    return shown


def _label(line: Line) -> str:
    return line.label if line.kind == "mean" else f"  {line.label}"


def _cells(table: Table, line: Line, bold: set[str]) -> list[Text]:
    texts = [line.texts.get(column, "") for column in table.shown_columns]
    if line.kind == "mean":
        styles = ["bold" if column in bold else "" for column in table.shown_columns]
        return [Text(_label(line)), *map(Text, texts, styles)]
    return [Text(_label(line), "dim"), *(Text(text, "dim") for text in texts)]
