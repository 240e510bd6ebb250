"""How results were made: command, versions, seeds and hardware."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..files import write_text
from ..paper import paper_tables
from ..run.display import duration
from ..run.stored import described
from ..study.studies import STUDIES
from ..study.table import Table
from .formats import escaped
from .grid import MISSING, Digits
from .looks import labelled
from .read import StudyRecord, read


def provenance(study: StudyRecord) -> list[tuple[str, str]]:
    """Names and values, for people; where runs differ, each value is shown."""
    environments = [run.environment for run in study.runs if run.environment]
    environments = environments or [dict(study.environment or {})]
    done = sum(run.result is not None for run in study.runs)
    seeds = {seed for table in study.tables if table.unit == "%" for seed in table.seeds}
    commands = [study.command] if study.command else _commands(environments)
    found = [("command", command) for command in commands]
    found.append(("settings", _plain(study.settings or {})))
    found.append(("seeds", _plain(sorted(seeds))))
    found += [(name, value) for name, value in _joined(environments) if name != "command"]
    found += [("data", line) for line in dict.fromkeys(described(run.data) for run in study.runs)]
    found.append(("figures", study.figures))
    if study.runs:
        found.append(("runs", f"{done} done of {len(study.runs)}"))
        timed = [run.seconds for run in study.runs if run.seconds]
        whose = "all runs" if len(timed) == len(study.runs) else f"the {len(timed)} runs with times"
        found.append((f"time of {whose}", duration(sum(timed))))
    return [(name, value) for name, value in found if value]


def _commands(environments: Iterable[Mapping[str, Any]]) -> list[str]:
    found = [environment.get("command") for environment in environments]
    joined = (shlex.join(map(str, words)) for words in found if isinstance(words, list))
    return list(dict.fromkeys(joined))


def _joined(environments: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each entry with all the values that it has."""
    values: dict[str, dict[str, None]] = {}
    for environment in environments:
        for name, value in environment.items():
            values.setdefault(name, {})[_plain(value)] = None
    return [(name, "; or ".join(found)) for name, found in values.items()]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        there = {name: _plain(one) for name, one in value.items()}
        return ", ".join(f"{name} {one}" for name, one in there.items() if one)
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return "" if value is None else str(value)


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
    theirs = {one.get("epochs") for one in paper_tables() if one["table"] == table.reference}
    paper = theirs.pop() if len(theirs) == 1 and table.has_paper else None
    if paper is None:
        return [f"{epochs} epoch{'s' if epochs > 1 else ''}"]
    return [f"{epochs} of {paper} epochs"]


def _seeds(table: Table) -> str:
    number = len(table.seeds)
    missing = "" if table.complete else ", some figures missing"
    return f"{number} seed{'s' if number > 1 else ''}{missing}"


BEGIN, END = "<!-- made by: make results -->", "<!-- end -->"
"""What the table stands between in its file."""
COST = ("efficiency-ratios", "training step")
"""Table and column that stand for the study of costs."""
HEAD = ["paper", "study", "figure", "ours", "the paper's", "difference", "epochs", "seeds", "note"]
PAGE = "README.md"


def write_index(directory: Path, file: Path) -> None:
    """Put the table of all studies into a Markdown file, between its two marks.

    Args:
        directory: with studies in it.
        file: what to change.
    """
    text = file.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ReportError.at(file, f"has no lines {BEGIN!r} and {END!r}", "add them")
    table = index(read(directory), file.parent)
    write_text(file, f"{before}{begin}\n\n{table}\n\n{end}{after}")


def index(studies: Sequence[StudyRecord], seen_from: Path) -> str:
    """A line for each record, then a sentence on studies that were not run; links are relative."""
    parts = [
        f"| {' | '.join(HEAD)} |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    missing = []
    for name, listed in STUDIES.items():
        found = [study for study in studies if study.name == name]
        for cells in [_measured(study, seen_from) for study in found]:
            parts.append(f"| {' | '.join([listed.reference, *cells])} |")
        if not found:
            missing.append(f"{listed.reference} (`prorandconv study {name}`, {listed.runs})")
    if missing:
        parts += ["", f"Not run, with the number of runs a seed: {', '.join(missing)}."]
    return "\n".join(parts)


def _page(record: Path, top: Path) -> Path:
    """The page of a study: in the folder of its record or in the next one above, below ``top``."""
    for folder in record.parents:
        if folder.resolve() == top.resolve():
            break
        if (folder / PAGE).exists():
            return folder / PAGE
    return record


def _measured(study: StudyRecord, seen_from: Path) -> tuple[str, ...]:
    assert study.path is not None
    link = Path(os.path.relpath(_page(study.path, seen_from), seen_from)).as_posix()
    table, column = _figure(study)
    row = subject(table, column)
    figure = ours = theirs = difference = MISSING
    if row is not None and (own := table.estimate(row, column)) is not None:
        digits = Digits.of(table, column)
        figure = f"{row}, {table.heading_of(column)}"
        ours = f"{digits.with_deviation(own)} {table.unit}"
        if (paper := table.paper(row, column)) is not None:
            theirs = f"{digits.plain(paper)} {table.unit}"
            difference = digits.signed(own.mean - paper)
    accuracies = table.unit == "%"
    return (
        f"[`{study.name}`]({link})",
        escaped(figure),
        ours,
        theirs,
        difference,
        (*length(study, table), MISSING)[0].removesuffix(" epochs") if accuracies else MISSING,
        f"{len(table.seeds)}" if accuracies else MISSING,
        "; ".join(_gaps(study)) or "complete",
    )


def _figure(study: StudyRecord) -> tuple[Table, str]:
    """The table and column that stand for a study: the first ones, but for costs."""
    for table in study.tables:
        if table.name == COST[0]:
            return labelled(table), COST[1]
    first = labelled(study.tables[0])
    return first, first.shown_columns[0]


def _gaps(study: StudyRecord) -> Iterator[str]:
    """What is missing of a study, or is not the paper's."""
    settings = study.settings or {}
    if settings.get("benchmark"):
        yield f"on {escaped(settings['benchmark'])} instead"
    if settings.get("rows"):
        yield f"{len(settings['rows'])} rows only"
    missing = sum(
        value is None
        for table in study.tables
        for cell in table.cells.values()
        for value in cell.values
    )
    if missing:
        yield f"{missing} figure{'s' if missing > 1 else ''} missing"
    absent = [note.rpartition(": ")[2] for table in study.tables for note in _absences(table)]
    if absent:
        yield f"without {', '.join(escaped(name) for name in dict.fromkeys(absent))}"


def _absences(table: Table) -> Iterator[str]:
    """Notes about data that was not there."""
    for note in table.notes:
        if note.startswith("absent"):
            yield note.partition(";")[0]
