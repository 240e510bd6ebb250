"""What a study has found, in a sentence."""

from __future__ import annotations

from ..data import get_benchmark
from ..paper import paper_tables
from ..study.table import Table
from .formats.lines import Digits
from .read import StudyRecord

OURS = ("Pro-RandConv", "pro-randconv", "Ours-D")
"""All of Pro-RandConv: the row that is spoken of, if a table has it; else the best one is."""
ROUNDED = Digits(1)


def verdict(study: StudyRecord) -> str:
    """The first table of accuracies in a sentence; empty if there is none with a figure."""
    for table in study.tables:
        if table.unit == "%" and table.axis is None and (found := _found(table)):
            return f"{found}; {', '.join([*length(study, table), _seeds(table)])}."
    return ""


def _found(table: Table) -> str:
    column = table.shown_columns[0]
    row = subject(table, column)
    if row is None or (own := table.estimate(row, column)) is None:
        return ""
    where = "" if table.averaged else f" on {column}"
    parts = [f"{row} {ROUNDED.plain(own.mean)} %{where}"]
    if (gain := table.gain(row, column)) is not None:
        sure = f" {ROUNDED.interval(gain.interval)}" if gain.interval is not None else ""
        than = "over" if gain.mean >= 0 else "against"
        parts.append(f"{ROUNDED.signed(gain.mean)} {than} {table.baseline}{sure}")
    if (to_paper := table.to_paper(row, column)) is not None:
        side = "above" if to_paper > 0 else "below"
        parts.append(f"{ROUNDED.plain(abs(to_paper))} {side} the paper")
    return ", ".join(parts)


def subject(table: Table, column: str) -> str | None:
    """The row that a table is about: Pro-RandConv's, or else the best one."""
    means = {row: found.mean for row in table.rows if (found := table.estimate(row, column))}
    own = next((row for row in OURS if row in means), None)
    return own or max(means, key=lambda row: means[row], default=None)


def length(study: StudyRecord, table: Table) -> list[str]:
    """Epochs of a run, if all have the same, and of the paper's where its figures are beside."""
    lengths = {run.config["epochs"] for run in study.runs} or {(study.settings or {}).get("epochs")}
    epochs = lengths.pop() if len(lengths) == 1 else None
    if not isinstance(epochs, int):
        return []
    theirs = [one for one in paper_tables() if one["table"] == table.reference]
    names = {(one.get("benchmark"), one.get("multi_source", False)) for one in theirs}
    name, several = names.pop() if len(names) == 1 else (None, False)
    if name is None or not table.has_paper:
        return [f"{epochs} epoch{'s' if epochs > 1 else ''}"]
    paper = get_benchmark(name).recipe.length(several_sources=several)
    return [f"{epochs} of {paper} epochs"]


def _seeds(table: Table) -> str:
    number = len(table.seeds)
    missing = "" if table.complete else ", some figures missing"
    return f"{number} seed{'s' if number > 1 else ''}{missing}"
