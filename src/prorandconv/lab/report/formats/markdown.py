"""Text, code and tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...study.table import Table
from .lines import best, footnotes, lines

SIGNS = r"\`*_[]<>&#|~"
"""What Markdown would take for its own."""


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, in one line.

    Example:
        >>> print(escaped("L_max <b>"))
        L\_max \<b\>
    """
    return "".join(f"\\{sign}" if sign in SIGNS else sign for sign in " ".join(text.split()))


def code(text: str) -> str:
    """Text as code in a line, whatever is in it.

    Example:
        >>> print(code("a `b` c"))
        `` a `b` c ``
    """
    plain = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    space = " " if longest else ""
    fence = "`" * (longest + 1)
    return f"{fence}{space}{plain}{space}{fence}"


def markdown_table(table: Table) -> str:
    """Mean, interval, paper and gain, a line each; a column's best mean is bold."""
    columns = table.shown_columns
    parts = _head(["", *columns])
    for row in table.rows:
        for line in lines(table, row):
            texts = [line.texts.get(column, "") for column in columns]
            if line.kind == "mean":
                texts = [
                    f"**{text}**" if row in best(table, column) else text
                    for column, text in zip(columns, texts, strict=True)
                ]
            indent = "" if line.kind == "mean" else "&emsp;"
            parts.append(_row(indent + escaped(line.label), *texts))
    notes = [f"- {escaped(note)}" for note in footnotes(table)]
    return "\n".join([*parts, "", *notes]) + "\n"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plain table: names on the left, figures on the right.

    Example:
        >>> print(grid(["class", "usps"], [["0", "97"]]))
        | class | usps |
        | --- | ---: |
        | 0 | 97 |
    """
    return "\n".join([*_head(head), *(_row(*map(escaped, row)) for row in rows)])


def _head(names: Sequence[str]) -> list[str]:
    return [_row(*map(escaped, names)), _row("---", *["---:"] * (len(names) - 1))]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
