"""Which kind of run validation prefers; no target is looked at."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..paper import changed_options
from ..run.config import PLACES
from ..run.values import short_hash
from .listing import changed_fields
from .ranking import shifted_score, trained_where
from .read import ReportedRun, readable_runs


@dataclass(frozen=True)
class Candidate:
    """Runs that differ only in their seed, by what validation says of them."""

    where: str
    """benchmark, sources and network"""
    method: str
    options: Mapping[str, Any]
    """of the method and of the run, where they differ from their defaults"""
    epochs: int
    """of each run"""
    seeds: tuple[int, ...]
    val: tuple[float, ...]
    """validation score of the best epoch, by seed"""
    val_shifted: tuple[float, ...]
    """the same under shifts"""

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def candidates(directory: Path, without: Collection[str] = ()) -> list[Candidate]:
    """The finished runs in a folder by data and network, best mean on shifted validation first.

    Args:
        directory: such as ``runs``, searched at any depth.
        without: families of shifts that do not count, such as one that a method trains with.
    """
    groups: dict[str, list[ReportedRun]] = {}
    for run in readable_runs(directory):
        done = run.result is not None and run.metrics
        if done and all(shifted_score(line, without) is not None for line in run.metrics):
            own = {n: v for n, v in run.config.items() if n not in (*PLACES, "seed")}
            groups.setdefault(short_hash(own), []).append(run)
    if not groups:
        raise ReportError.at(
            directory,
            "has no finished run with shifted validation and its metrics",
            "train with --shifted-validation",
        )
    found = [_candidate(runs, without) for runs in groups.values()]
    return sorted(found, key=lambda one: (one.where, -statistics.fmean(one.val_shifted)))


def _candidate(runs: Sequence[ReportedRun], without: Collection[str]) -> Candidate:
    runs = sorted(runs, key=lambda run: int(run.config["seed"]))
    config = runs[0].config
    return Candidate(
        trained_where(config),
        config["method"],
        changed_options(config) | changed_fields(config),
        config["epochs"],
        tuple(run.config["seed"] for run in runs),
        tuple(max(line[run.validated] for line in run.metrics) for run in runs),
        tuple(max(shifted_score(line, without) or 0.0 for line in run.metrics) for run in runs),
    )
