"""Which kind of run validation prefers; no target is looked at."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scipy.stats import spearmanr

from ..errors import ReportError
from ..paper import changes
from ..run.config import PATH_FIELDS
from ..run.values import short_hash
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
            own = {n: v for n, v in run.config.items() if n not in (*PATH_FIELDS, "seed")}
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
        changes(config),
        config["epochs"],
        tuple(run.config["seed"] for run in runs),
        tuple(max(line[run.validated] for line in run.metrics) for run in runs),
        tuple(max(shifted_score(line, without) or 0.0 for line in run.metrics) for run in runs),
    )


FEWEST = 4
"""Figures that a rank correlation needs: of three it is often 1 by chance."""


@dataclass(frozen=True)
class Ranking:
    """Spearman's rank correlation of two kinds of validation with the average over targets."""

    over: str
    """"runs" (by their last weights) or "epochs" (of each run, the mean over runs)"""
    where: str
    """benchmark, sources and network"""
    runs: int
    figures: int
    """runs, or epochs of all runs"""
    val: float
    """by plain validation"""
    val_shifted: float
    """by shifted validation"""

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def rankings(directory: Path, without: Collection[str] = ()) -> list[Ranking]:
    """What the runs in a folder say that have shifted validation and measured their targets.

    Args:
        directory: such as ``runs``, searched at any depth.
        without: families of shifts that do not count, such as one that a method trains with.
    """
    groups: dict[str, list[Sequence[Mapping[str, float]]]] = {}
    for run in readable_runs(directory):
        if lines := _lines(run, without):
            groups.setdefault(trained_where(run.config), []).append(lines)
    ranked = (_ranked(where, runs) for where, runs in sorted(groups.items()))
    found = [ranking for both in ranked for ranking in both]
    if not found:
        raise ReportError.at(
            directory,
            f"has no {FEWEST} runs of one kind, nor a run with {FEWEST} epochs, that have shifted "
            "validation and measured targets",
            "train with --shifted-validation and --target-every 1",
        )
    return found


def _lines(run: ReportedRun, without: Collection[str]) -> list[dict[str, float]]:
    """Epochs at which everything was measured; of a result without its metrics, the last one."""
    last = (run.result or {}).get("last", {})
    if not run.metrics and not without and {"val_shifted", "average"} <= set(last):
        return [{"val": last[run.validated]} | {n: last[n] for n in ("val_shifted", "average")}]
    found = []
    for line in run.metrics:
        shifted = shifted_score(line, without)
        if shifted is not None and line.get("average") is not None:
            own = {"val": line[run.validated], "val_shifted": shifted, "average": line["average"]}
            found.append(own)
    return found


def shifted_score(line: Mapping[str, Any], without: Collection[str]) -> float | None:
    """The mean score of an epoch on shifted validation images; None if it has none.

    Args:
        line: of a run's metrics.
        without: families of shifts that do not count.
    """
    families = line.get("shifted") or {}
    left = [value for family, value in families.items() if family not in without]
    return statistics.fmean(left) if left else None


def trained_where(config: Mapping[str, Any]) -> str:
    """What runs that are compared have in common: benchmark, sources, network and image size."""
    size = config.get("image_size")
    pixels = f", {size} pixels" if size else ""
    return f"{config['benchmark']} {'+'.join(config['source'])}, {config['network']}{pixels}"


def _ranked(where: str, runs: Sequence[Sequence[Mapping[str, float]]]) -> Iterable[Ranking]:
    last = [lines[-1] for lines in runs]
    if len(last) >= FEWEST:
        yield Ranking("runs", where, len(last), len(last), **_correlations(last))
    long = [lines for lines in runs if len(lines) >= FEWEST]
    if long:
        each = [_correlations(lines) for lines in long]
        means = {name: statistics.fmean(one[name] for one in each) for name in each[0]}
        yield Ranking("epochs", where, len(long), sum(map(len, long)), **means)


def _correlations(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    targets = [line["average"] for line in figures]
    return {
        name: _spearman([line[name] for line in figures], targets)
        for name in ("val", "val_shifted")
    }


def _spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Zero if one of them does not rank at all."""
    if len(set(one)) == 1 or len(set(other)) == 1:
        return 0.0
    return float(spearmanr(one, other).statistic)
