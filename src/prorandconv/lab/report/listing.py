"""All runs in a folder, a line each: what they are, how far they are, what they have found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import ReportError
from ..paper import changes
from ..run.directory import CONFIG, METRICS, RESULT, STATE, RunDirectory, run_directories
from ..run.stored import evaluation_of, selected
from .read import ReportedRun

RunStatus = Literal["done", "running", "stopped", "diverged", "empty", "damaged"]


@dataclass(frozen=True)
class ListedRun:
    """A run as a list shows it; plain values, as far as its files can be read."""

    path: str
    status: RunStatus
    age: float
    """seconds since its files last changed"""
    problems: tuple[str, ...] = ()
    """files that are damaged, and what does not fit together"""
    benchmark: str = ""
    method: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """of the method and of the run, where they differ from their defaults"""
    source: tuple[str, ...] = ()
    seed: int | None = None
    epoch: int = 0
    """epochs that are done"""
    epochs: int | None = None
    """epochs asked for"""
    metric: str = ""
    """what the run is measured by: accuracy or miou, in per cent"""
    validation: float | None = None
    """on the sources' validation split: of the selected weights if done, else of the last epoch"""
    average: float | None = None
    """over the targets, with the selected weights; None until the run is done"""
    targets: Mapping[str, float] = field(default_factory=dict)
    """by target, with the selected weights"""

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def list_runs(directory: Path) -> list[ListedRun]:
    """The runs in a folder at any depth, ordered by path.

    Args:
        directory: such as ``runs``.
    """
    return [_listed(home) for home in run_directories(directory)]


def _listed(home: Path) -> ListedRun:
    files = [home / name for name in (CONFIG, METRICS, STATE, RESULT)]
    now = time.time()
    age = now - max((path.stat().st_mtime for path in files if path.exists()), default=now)
    try:
        run = ReportedRun.read(home)
    except ReportError as error:
        return ListedRun(str(home), "damaged", age, problems=(str(error.problem),))
    best = selected(run.result) if run.result is not None else {}
    last = run.metrics[-1] if run.metrics else {}
    return ListedRun(
        str(home),
        "done" if run.result is not None else _unfinished(home),
        age,
        run.problems,
        run.config["benchmark"],
        run.config["method"],
        changes(run.config),
        tuple(run.config["source"]),
        run.config["seed"],
        run.epoch,
        run.config["epochs"],
        evaluation_of(run.config).metric,
        (best or last).get(run.validated),
        best.get("average"),
        {name: target.score for name, target in run.targets.items()},
    )


def _unfinished(home: Path) -> RunStatus:
    if (home / RESULT).exists():
        return "damaged"
    if RunDirectory(home).in_use():
        return "running"
    if any(home.glob("nan-rank*.pt")):
        return "diverged"
    return "stopped" if (home / STATE).exists() else "empty"
