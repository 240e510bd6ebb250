"""A table in Markdown."""

from __future__ import annotations

from ...study.table import Table
from .lines import best, footnotes, lines


def markdown_table(table: Table) -> str:
    """Mean, interval, paper and gain, a line each; a column's best mean is bold."""
    columns = table.shown_columns
    parts = [_row("", *map(_escaped, columns)), _row("---", *["---:"] * len(columns))]
    for row in table.rows:
        for line in lines(table, row):
            texts = [_escaped(line.texts.get(column, "")) for column in columns]
            if line.kind == "mean":
                texts = [
                    f"**{text}**" if row in best(table, column) else text
                    for column, text in zip(columns, texts, strict=True)
                ]
            indent = "" if line.kind == "mean" else "&emsp;"
            parts.append(_row(indent + _escaped(line.label), *texts))
    notes = [f"- {_escaped(note)}" for note in footnotes(table)]
    return "\n".join([*parts, "", *notes]) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Signs that Markdown would take for its own."""
    for sign in "\\|*_`<":
        text = text.replace(sign, f"\\{sign}")
    return text
