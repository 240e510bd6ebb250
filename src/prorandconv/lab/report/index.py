"""The paper's tables and figures, and what has been measured of each, as one table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import ReportError
from ..files import write_text
from ..study.paper import STUDIES
from ..study.table import Table
from .formats.lines import MISSING, Digits
from .formats.markdown import escaped
from .looks import labelled
from .read import StudyRecord, read
from .verdict import length, subject

BEGIN, END = "<!-- made by: make results -->", "<!-- end -->"
"""What the table stands between in its file."""
COST = ("efficiency-ratios", "training step")
"""Table and column that stand for the study of costs."""
HEAD = ("paper", "study", "status", "seeds", "epochs", "ours", "the paper's", "difference")
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
    parts = [f"| {' | '.join(HEAD)} |", "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
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
    ours = theirs = difference = MISSING
    if row is not None and (own := table.estimate(row, column)) is not None:
        digits = Digits.of(table, column)
        spread = "" if own.deviation is None else f" ± {digits.plain(own.deviation)}"
        ours = f"{row}, {column}: {digits.plain(own.mean)}{spread} {table.unit}"
        if (paper := table.paper(row, column)) is not None:
            theirs = f"{digits.plain(paper)} {table.unit}"
            difference = digits.signed(own.mean - paper)
    accuracies = table.unit == "%"
    return (
        f"[`{study.name}`]({link})",
        "; ".join(_gaps(study)) or "complete",
        f"{len(table.seeds)}" if accuracies else MISSING,
        (*length(study, table), MISSING)[0].removesuffix(" epochs") if accuracies else MISSING,
        escaped(ours),
        escaped(theirs),
        difference,
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
