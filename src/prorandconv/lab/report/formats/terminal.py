"""A table in the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table as TerminalTable
from rich.text import Text

from ...study.table import Table
from .lines import Line, best, footnotes, heading, lines


def terminal_table(table: Table) -> TerminalTable:
    """Mean, interval, paper and gain, a line each; a column's best mean is bold."""
    shown = TerminalTable(
        title=heading(table),
        caption="\n".join(footnotes(table)),
        title_justify="left",
        caption_justify="left",
        box=box.ROUNDED,
    )
    shown.add_column("")
    for column in table.shown_columns:
        shown.add_column(column, justify="right")
    highest = {column: best(table, column) for column in table.shown_columns}
    for row in table.rows:
        for line in lines(table, row):
            bold = {column for column, rows in highest.items() if row in rows}
            shown.add_row(*_cells(table, line, bold))
        shown.add_section()
    return shown


def _cells(table: Table, line: Line, bold: set[str]) -> list[Text]:
    if line.kind == "mean":
        styles = ["bold" if column in bold else "" for column in table.shown_columns]
        texts = [line.texts[column] for column in table.shown_columns]
        return [Text(line.label), *map(Text, texts, styles)]
    texts = [line.texts.get(column, "") for column in table.shown_columns]
    return [Text(f"  {line.label}", "dim"), *(Text(text, "dim") for text in texts)]
