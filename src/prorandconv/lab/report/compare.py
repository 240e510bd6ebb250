"""Runs that can be compared: the same setting, other methods and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..methods import METHODS
from ..paper import changed_options, paper_row, paper_tables
from ..run.config import RunConfig
from ..run.evaluation import Evaluation
from ..study.table import Cell, Table
from .read import ReportedRun

FREE = ("method", "options", "seed", "data_root", "target_every")
"""Fields in which runs of one comparison may differ."""
BASELINE = "erm"


@dataclass(frozen=True)
class Comparison:
    """Runs that differ in method and seed only."""

    title: str
    rows: Mapping[str, Mapping[int, ReportedRun]]
    """by method with its options, and seed"""
    baseline: str | None
    """the row of ERM, if there is one"""

    @property
    def name(self) -> str:
        """Short, for file names; other settings may have the same."""
        return _name(self.runs[0].config)

    @property
    def runs(self) -> tuple[ReportedRun, ...]:
        """All runs, row by row."""
        return tuple(run for row in self.rows.values() for run in row.values())

    @property
    def firsts(self) -> dict[str, ReportedRun]:
        """The first run of each row."""
        return {row: next(iter(seeds.values())) for row, seeds in self.rows.items()}

    @property
    def targets(self) -> tuple[str, ...]:
        """Every target that any run has measured."""
        names: dict[str, None] = {}
        for run in self.runs:
            for line in run.metrics:
                names |= dict.fromkeys(line.get("targets", ()))
            names |= dict.fromkeys(run.targets)
        return tuple(names)

    def confusion(self, row: str, target: str) -> Evaluation | None:
        """Confusion counts, summed over the seeds that are done."""
        found = [run.targets[target] for run in self.rows[row].values() if target in run.targets]
        if not found:
            return None
        counts = zip(*(one.confusion for one in found), strict=True)
        return Evaluation(tuple(tuple(map(sum, zip(*rows, strict=True))) for rows in counts))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, as the first run that is done has them."""
        done = [run.result for run in self.runs if run.result is not None]
        return tuple(done[0].get("classes", ())) if done else ()


def label(config: RunConfig) -> str:
    """The method, and the options in which it differs from its own defaults.

    Example:
        >>> label(RunConfig.paper("digits", method="pro-randconv", options={"max_repeats": 5}))
        'pro-randconv (max_repeats 5)'
    """
    changed = ", ".join(
        f"{name} {_plain(value)}" for name, value in changed_options(config).items()
    )
    return f"{config.method} ({changed})" if changed else config.method


def paper_names(config: RunConfig) -> tuple[str, ...]:
    """What the paper's tables call this method with these options.

    Example:
        >>> paper_names(RunConfig.paper("digits", method="progressive"))[0]
        'Progressive (Same)'
    """
    rows = [row for table in paper_tables() for row in table["rows"] if "method" in row]
    own = (config.method, changed_options(config))
    found = [row["row"].rstrip("*") for row in rows if (row["method"], row["options"]) == own]
    return tuple(dict.fromkeys(found))


def comparisons(runs: Iterable[ReportedRun], names: Sequence[str] = ()) -> tuple[Comparison, ...]:
    """Put together what can be compared.

    Args:
        runs: to be put together.
        names: rows of a study's tables: a run that the paper gives such a name is called so, and
            they come first. Others are called by method and options, in the order of the methods.
    """
    order = {name: place for place, name in enumerate(dict.fromkeys((*names, *METHODS)))}
    found: dict[str, list[tuple[str, ReportedRun]]] = {}
    for run in runs:
        mapping = run.config.to_mapping()
        key = repr([value for name, value in mapping.items() if name not in FREE])
        found.setdefault(key, []).append((_called(run.config, names), run))
    titles = _titles([group[0][1].config for group in found.values()])

    def place(called: tuple[str, ReportedRun]) -> tuple[int, str, int]:
        name, run = called
        own = order.get(name, order.get(run.config.method, len(order)))
        return own, name, run.config.seed

    return tuple(
        _comparison(title, sorted(group, key=place))
        for title, group in zip(titles, found.values(), strict=True)
    )


def _comparison(title: str, called: Sequence[tuple[str, ReportedRun]]) -> Comparison:
    rows: dict[str, dict[int, ReportedRun]] = {}
    for name, run in called:
        seeds = rows.setdefault(name, {})
        before = seeds.get(run.config.seed)
        if before is None or _progress(before) < _progress(run):
            seeds[run.config.seed] = run
    erm = [name for name, run in called if run.config.method == BASELINE]
    return Comparison(title, rows, erm[0] if erm else None)


def _progress(run: ReportedRun) -> tuple[bool, int]:
    return run.result is not None, run.epoch


def table_of(comparison: Comparison, name: str) -> Table:
    """Methods by targets, with the weights that are best by validation."""
    runs, targets = comparison.runs, comparison.targets
    done = [run.result for run in runs if run.result is not None]
    seeds = tuple(sorted({run.config.seed for run in runs}))
    cells = {}
    for row, of_seeds in comparison.rows.items():
        paper = paper_row(comparison.firsts[row].config)
        for target in targets:
            found = [_accuracy(of_seeds.get(seed), target) for seed in seeds]
            cells[row, target] = Cell(
                tuple(found), paper.targets.get(target) if paper is not None else None
            )
    averaged = [t for t in targets if done and all(t in result["averaged"] for result in done)]
    absent = sorted({name for result in done for name in result["absent"]})
    return Table(
        name,
        comparison.title,
        _reference(comparison),
        tuple(comparison.rows),
        targets,
        seeds,
        cells,
        baseline=comparison.baseline if len(comparison.rows) > 1 else None,
        averaged=tuple(averaged) if len(averaged) > 1 else (),
        notes=(f"absent, and in no average: {', '.join(absent)}",) if absent else (),
    )


def _accuracy(run: ReportedRun | None, target: str) -> float | None:
    return run.targets[target].accuracy if run is not None and target in run.targets else None


def _reference(comparison: Comparison) -> str:
    rows = [paper_row(run.config) for run in comparison.runs]
    return ", ".join(dict.fromkeys(row.table for row in rows if row is not None and row.targets))


def _called(config: RunConfig, names: Sequence[str]) -> str:
    return next((name for name in paper_names(config) if name in names), label(config))


def _titles(configs: Sequence[RunConfig]) -> list[str]:
    """What each one compares; further fields only where those of the same name differ."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for config in configs:
        alike.setdefault(_name(config), []).append(config.to_mapping())

    def further(config: RunConfig) -> str:
        own, others = config.to_mapping(), alike[_name(config)]
        differing = [
            name
            for name in own
            if name not in FREE and any(other[name] != own[name] for other in others)
        ]
        return "".join(f", {name} {_plain(own[name])}" for name in differing)

    return [_name(config) + further(config) for config in configs]


def _name(config: RunConfig) -> str:
    epochs = f"{config.epochs} epoch{'s' if config.epochs > 1 else ''}"
    return f"{config.benchmark} from {' + '.join(config.source)}, {config.network}, {epochs}"


def _plain(value: Any) -> str:
    return " ".join(map(_plain, value)) if isinstance(value, list) else str(value)
