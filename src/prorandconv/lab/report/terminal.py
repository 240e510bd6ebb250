"""A table in the terminal."""

from __future__ import annotations

from rich.table import Table as TerminalTable

from ..studies.table import Table


def terminal_table(table: Table) -> TerminalTable:
    """Mean and deviation, interval, paper and gain, a line each."""
    shown = TerminalTable(title=table.title, caption="\n".join(table.notes), title_justify="left")
    shown.add_column("")
    for column in table.shown_columns:
        shown.add_column(column, justify="right")
    for row in table.rows:
        shown.add_row(row, *(_mean(table, row, column) for column in table.shown_columns))
    return shown


def _mean(table: Table, row: str, column: str) -> str:
    estimate = table.estimate(row, column)
    return "" if estimate is None else f"{estimate.mean:.2f}"
