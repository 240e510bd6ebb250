"""A table in LaTeX, for the package booktabs."""

from __future__ import annotations

import re

from ...study.table import Table
from .lines import Line, best, footnotes, heading, lines

SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
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


def latex_table(table: Table) -> str:
    r"""A ``table`` that needs ``\usepackage{booktabs}`` and nothing else."""
    columns = table.shown_columns
    notes = "; ".join(map(escaped, footnotes(table)))
    parts = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(heading(table))}. {notes}.}}",
        rf"\label{{tab:{_label(table.name)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        _row("", *map(escaped, columns)),
        r"\midrule",
    ]
    for number, row in enumerate(table.rows):
        parts += [r"\addlinespace"] * (number > 0)
        parts += [_line(table, row, line) for line in lines(table, row)]
    return "\n".join([*parts, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def escaped(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    Example:
        >>> print(escaped("σ_w: 95 %"))
        $\sigma$\_w: 95 \%
    """
    return "".join(SIGNS.get(sign, sign) for sign in " ".join(text.split()))


def _label(name: str) -> str:
    """The name in signs that a label may have."""
    return "-".join(re.findall("[A-Za-z0-9]+", name)) or "table"


def _line(table: Table, row: str, line: Line) -> str:
    texts = {column: escaped(line.texts.get(column, "")) for column in table.shown_columns}
    if line.kind == "mean":
        bold = {c: rf"\textbf{{{t}}}" if row in best(table, c) else t for c, t in texts.items()}
        return _row(escaped(line.label), *bold.values())
    small = [rf"\footnotesize {text}" if text else "" for text in texts.values()]
    return _row(rf"\quad\footnotesize {escaped(line.label)}", *small)


def _row(*cells: str) -> str:
    return " & ".join(cells) + r" \\"
