"""Result directories, read: studies and runs, with what is missing in them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import ProRandConvError
from ..errors import DataError, ReportError
from ..run.config import RunConfig
from ..run.directory import CONFIG, ENVIRONMENT, METRICS, RESULT, TIMING
from ..run.evaluation import Evaluation
from ..study.table import Table

STUDY = "study.json"
REMEDY = "repair or remove it"


@dataclass(frozen=True)
class ReportedRun:
    """A run's directory, done or not."""

    path: Path
    config: RunConfig
    metrics: tuple[dict[str, Any], ...]
    """a line an epoch"""
    result: Mapping[str, Any] | None
    """None: not done"""
    environment: Mapping[str, Any]
    seconds: float
    """of training and evaluation together"""

    @property
    def epoch(self) -> int:
        """The last epoch that is done."""
        return int(self.metrics[-1]["epoch"]) if self.metrics else 0

    @cached_property
    def targets(self) -> dict[str, Evaluation]:
        """The targets, measured with the best weights by validation; empty if not done."""
        if self.result is None:
            return {}
        stored = self.result["best_validation"]["targets"]
        return {name: Evaluation.from_mapping(target) for name, target in stored.items()}

    @classmethod
    def read(cls, path: Path) -> ReportedRun:
        """Read a run's directory."""
        try:
            config = RunConfig.read(path / CONFIG)
        except ProRandConvError as error:
            if isinstance(error, DataError) or str(path) in str(error):
                raise
            raise ReportError.at(path / CONFIG, str(error), REMEDY) from error
        result = _json(path / RESULT) if (path / RESULT).exists() else None
        times = _lines(path / TIMING, ("training_s", "evaluation_s"))
        run = cls(
            path,
            config,
            _lines(path / METRICS, ("epoch", "val_accuracy")),
            result,
            _json(path / ENVIRONMENT) if (path / ENVIRONMENT).exists() else {},
            sum(time["training_s"] + time["evaluation_s"] for time in times),
        )
        try:
            _ = run.targets, result is None or (result["averaged"], result["absent"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ReportError.at(
                path / RESULT, f"is no result of a run ({error!r})", REMEDY
            ) from error
        return run


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
    """runs that failed, are not there or are not done: a line each"""


def read(directory: Path) -> tuple[StudyRecord, ...]:
    """All studies in a directory, and its other runs as one more study without tables.

    Args:
        directory: a folder with study.json or run directories in it, at any depth.
    """
    if not directory.is_dir():
        raise ProRandConvError.about("directory", str(directory), "a folder that exists")
    studies = [_study(path) for path in sorted(directory.rglob(STUDY))]
    taken = {run.path.resolve() for study in studies for run in study.runs}
    homes = [path.parent for path in sorted(directory.rglob(CONFIG))]
    runs, problems = _runs([home for home in homes if home.resolve() not in taken], directory)
    if runs or problems:
        title = "Runs of no study" if studies else "Runs"
        studies.append(StudyRecord("runs", title, runs, problems=problems))
    if not studies:
        expected = f"a folder with {STUDY} or run directories in it"
        raise ProRandConvError.about("directory", str(directory), expected)
    return tuple(studies)


def _study(path: Path) -> StudyRecord:
    stored = _json(path)
    try:
        homes = [Path(os.path.normpath(path.parent / name)) for name in stored["runs"]]
        runs, problems = _runs(homes, path.parent)
        failed = [
            f"{one['run']}: failed: {one.get('problem') or one['why']}" for one in stored["failed"]
        ]
        command = stored["command"]
        return StudyRecord(
            stored["study"],
            stored["title"],
            runs,
            tuple(map(Table.from_mapping, stored["tables"])),
            command if isinstance(command, str) else shlex.join(command),
            stored["settings"],
            stored["environment"],
            (*failed, *problems),
        )
    except (KeyError, TypeError) as error:
        raise ReportError.at(path, f"is no record of a study ({error!r})", REMEDY) from error


def _runs(homes: Sequence[Path], root: Path) -> tuple[tuple[ReportedRun, ...], tuple[str, ...]]:
    """The runs that are there, and a line about each that is not, or is not done."""
    runs, problems = [], []
    for home in homes:
        name = os.path.relpath(home, root)
        if not (home / CONFIG).exists():
            problems.append(f"{name}: not there")
            continue
        try:
            run = ReportedRun.read(home)
        except DataError as error:
            problems.append(f"{name}: left out, because its data is gone: {error}")
            continue
        runs.append(run)
        if run.result is None:
            problems.append(f"{name}: not done, epoch {run.epoch} of {run.config.epochs}")
    return tuple(runs), tuple(problems)


def _json(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ReportError.at(path, f"cannot be read ({error})", REMEDY) from error
    if not isinstance(stored, dict):
        raise ReportError.at(path, "is no JSON object", REMEDY)
    return stored


def _lines(path: Path, needed: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """The lines of a file that may not be there yet."""
    if not path.exists():
        return ()
    found = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        try:
            line = json.loads(text)
            found.append({**line, **{name: line[name] for name in needed}})
        except (ValueError, KeyError, TypeError) as error:
            raise ReportError.at(path, f"line {number} is damaged ({error!r})", REMEDY) from error
    return tuple(found)
