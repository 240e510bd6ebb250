"""Result directories, read: studies and runs, with what is missing or suspect in them.

Nothing that a file names is imported or called, and a damaged file is a line among the problems:
a report is made of what is left.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import ProRandConvError
from ..errors import LabError, ReportError
from ..run.config import PATH_FIELDS
from ..run.directory import (
    BEST,
    CONFIG,
    ENVIRONMENT,
    METRICS,
    RESULT,
    STATE,
    TIMING,
    notes,
    run_directories,
)
from ..run.stored import (
    StoredConfig,
    check,
    conflicts,
    evaluation_of,
    fingerprints,
    read_object,
    read_result,
    selected,
    validation_score,
)
from ..study.table import STUDY, Table
from ..tasks import Evaluation

REMEDY = "repair or remove it"
STORED = f"its figures are those stored in {STUDY}"
Plain = dict[str, Any]
"""A JSON object."""


@dataclass(frozen=True)
class ReportedRun:
    """A run's directory, done or not."""

    path: Path
    config: Plain
    """what was run, as plain values; a file edited afterwards does not change it"""
    metrics: tuple[Plain, ...]
    """a line an epoch"""
    result: Plain | None
    """None: not done"""
    environment: Plain
    seconds: float
    """of training and evaluation together"""
    problems: tuple[str, ...] = ()
    """what its notes say, files that are damaged, and what does not fit together"""

    @property
    def hash(self) -> str:
        """Its name, which has the content of the weights it began with."""
        return str(self.path.resolve().name if self.result is None else self.result["hash"])

    @property
    def epoch(self) -> int:
        """The last epoch that is done."""
        return int(self.metrics[-1]["epoch"]) if self.metrics else 0

    @cached_property
    def targets(self) -> dict[str, Evaluation]:
        """The targets, measured with the selected weights; empty if not done."""
        return {} if self.result is None else _targets(self.result)

    @property
    def has_weights(self) -> bool:
        """Whether its weights are there, as a file of their own or in its checkpoint."""
        return any((self.path / name).exists() for name in (BEST, STATE))

    @property
    def validated(self) -> str:
        """The name of the score on validation samples, in metrics and result."""
        return validation_score(evaluation_of(self.config).metric)

    @property
    def data(self) -> dict[str, str]:
        """Fingerprints of the data it was trained and measured on; empty if not done."""
        return {} if self.result is None else fingerprints(self.result)

    @classmethod
    def read(cls, path: Path) -> ReportedRun:
        """Read a run's directory; an error only if not even its config can be read."""
        written = _config(path / CONFIG)
        problems = notes(path)
        result = _optional(path / RESULT, read_result, problems)
        environment = _optional(path / ENVIRONMENT, _json, problems) or {}
        times = _lines(path / TIMING, ("training_s", "evaluation_s"), problems)
        config = written if result is None else result["config"]
        problems += _disagreements(path, written, config, result)
        return cls(
            path,
            config,
            _lines(
                path / METRICS, ("epoch", validation_score(evaluation_of(config).metric)), problems
            ),
            result,
            environment,
            sum(time["training_s"] + time["evaluation_s"] for time in times),
            tuple(problems),
        )


def readable_runs(directory: Path) -> Iterator[ReportedRun]:
    """The runs in a folder, at any depth, but for those whose config cannot be read."""
    for home in run_directories(directory):
        with suppress(ReportError):
            yield ReportedRun.read(home)


@dataclass(frozen=True)
class StudyRecord:
    """Tables, the runs they are made from, and how they were made."""

    name: str
    title: str
    runs: tuple[ReportedRun, ...]
    tables: tuple[Table, ...] = ()
    command: str = ""
    settings: Mapping[str, Any] | None = None
    environment: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    """what failed, is missing, not done, damaged or suspect: a line each"""
    figures: str = ""
    """where those of the tables come from, if not from the runs"""
    path: Path | None = None
    """its study.json"""


def read(directory: Path) -> tuple[StudyRecord, ...]:
    """All studies in a directory, and its other runs as one more study without tables.

    Args:
        directory: a folder with study.json or run directories in it, at any depth.
    """
    homes = run_directories(directory)
    studies, problems = [], []
    for path in sorted(directory.rglob(STUDY)):
        try:
            studies.append(_study(path))
        except ReportError as error:
            problems.append(str(error))
    taken = {run.path.resolve() for study in studies for run in study.runs}
    runs, own = _runs([home for home in homes if home.resolve() not in taken], directory)
    problems += own
    if not studies and not runs:
        expected = f"a folder with {STUDY} or run directories in it"
        raise ProRandConvError.about("directory", str(directory), "; ".join([expected, *problems]))
    if runs or problems:
        title = "Runs outside studies" if studies else "Runs"
        studies.append(StudyRecord("runs", title, runs, problems=tuple(problems)))
    return tuple(studies)


def _study(path: Path) -> StudyRecord:
    stored = _json(path)
    try:
        homes = [Path(os.path.normpath(path.parent / name)) for name in stored["runs"]]
        failed = [
            f"{one['run']}: failed: {one.get('problem') or one['why']}" for one in stored["failed"]
        ]
        # Without any run the tables stand for themselves, as in a folder of published results.
        present = any((home / CONFIG).exists() for home in homes)
        runs, problems = _runs(homes, path.parent, stored=True) if present else ((), [])
        if different := conflicts(run.data for run in runs):
            problems.append(f"its runs are not all on the same data: {different}")
        command = stored["command"]
        return StudyRecord(
            str(stored["study"]),
            str(stored["title"]),
            runs,
            tuple(map(Table.from_mapping, stored["tables"])),
            command if isinstance(command, str) else shlex.join(map(str, command)),
            dict(stored["settings"]),
            dict(stored["environment"]),
            (*failed, *problems),
            f"as stored in {STUDY}" + ("; its runs are not here" if homes and not present else ""),
            path,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ReportError.at(path, f"is not the record of a study ({error!r})", REMEDY) from error


def _runs(
    homes: Sequence[Path], root: Path, *, stored: bool = False
) -> tuple[tuple[ReportedRun, ...], list[str]]:
    """The runs that can be read, and a line about each that cannot, is not done or is suspect.

    Args:
        homes: their directories.
        root: the folder that paths are shown from.
        stored: whether their figures are kept elsewhere too.
    """
    runs, problems = [], []
    kept = f"; {STORED}" if stored else ""
    for home in homes:
        name = os.path.relpath(home, root)
        if not (home / CONFIG).exists():
            problems.append(f"{name}: missing{kept}")
            continue
        try:
            run = ReportedRun.read(home)
        except ReportError as error:
            problems.append(f"{name}: left out: {error.problem}{kept}")
            continue
        runs.append(run)
        if run.result is None:
            epochs = f"epoch {run.epoch} of {run.config['epochs']}"
            problems.append(f"{name}: not done, {epochs}{kept}")
        problems += [f"{name}: {problem}" for problem in run.problems]
    return tuple(runs), problems


def _disagreements(path: Path, written: Plain, config: Plain, result: Plain | None) -> list[str]:
    """Where the directory's name, config.json and what was run do not fit together."""
    found = []
    changed = [n for n in config if n not in PATH_FIELDS and written.get(n) != config[n]]
    if changed:
        found.append(
            f"{CONFIG} was changed after the run ({', '.join(changed)}); {RESULT} says what was run"
        )
    known = None if result is None else result.get("hash")
    if known is not None and path.resolve().name != known:
        found.append(f"the directory is not called by the run's hash, {known}")
    folders = path.resolve().parts[-4:-1]
    own = (config["benchmark"], config["method"].replace(":", "-"), "+".join(config["source"]))
    fits = [folder == name for folder, name in zip(folders, own, strict=False)]
    if any(fits) and not all(fits):  # a run that lies elsewhere fits in none
        found.append(f"the directory says {' '.join(folders)}, the run {' '.join(own)}")
    return found


def _config(path: Path) -> Plain:
    stored = _json(path)
    try:
        check(StoredConfig, stored)
    except ValueError as error:
        raise ReportError.at(
            path, f"{path.name} is not a run's config ({error})", REMEDY
        ) from error
    return stored


def _targets(result: Plain) -> dict[str, Evaluation]:
    kind = evaluation_of(result["config"])
    return {n: kind.from_mapping(target) for n, target in selected(result)["targets"].items()}


def _json(path: Path) -> Plain:
    try:
        return read_object(path)
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError.at(path, f"{path.name} cannot be read ({error})", REMEDY) from error


def _optional(path: Path, reader: Callable[[Path], Plain], problems: list[str]) -> Plain | None:
    """What a file holds; None if it is not there, or damaged, which is a problem."""
    if not path.exists():
        return None
    try:
        return reader(path)
    except LabError as error:
        problems.append(f"{path.name} {str(error.problem).removeprefix(f'{path.name} ')}")
        return None


def _lines(path: Path, needed: Sequence[str], problems: list[str]) -> tuple[Plain, ...]:
    """The lines of a file that may not be there yet; damaged ones are left out."""
    if not path.exists():
        return ()
    found = []
    for number, text in enumerate(path.read_text(errors="replace").splitlines(), 1):
        try:
            line = json.loads(text)
            figures = [*(line[name] for name in needed), *line.get("targets", {}).values()]
            if not all(isinstance(figure, int | float) for figure in figures):
                raise ValueError(text)
            found.append(line)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problems.append(f"{path.name}: line {number} is damaged and left out")
    return tuple(found)
