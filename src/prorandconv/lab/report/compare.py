"""Runs that can be compared: the same setting and the same data, other methods and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields

from ..files import digest
from ..methods import METHODS
from ..paper import changed_options, paper_row, paper_tables, text_of, with_changes
from ..run.config import RunConfig
from ..run.stored import conflicts, described, evaluation_of
from ..study.table import Cell, Table
from ..tasks import Evaluation
from .read import Plain, ReportedRun

FREE = ("format", "method", "options", "seed", "data", "data_root", "target_every")
"""Fields in which runs of one comparison may differ; data is compared by its fingerprints."""
DEFAULTS = {f.name: f.default for f in fields(RunConfig) if f.default is not MISSING}
"""Of fields that an older run may not have yet."""
BASELINE = "erm"


@dataclass(frozen=True)
class Comparison:
    """Runs that differ in method and seed only, on the same data."""

    title: str
    rows: Mapping[str, Mapping[int, ReportedRun]]
    """by method with its options, and seed"""
    baseline: str | None
    """the row of ERM, if there is one"""
    data: str = ""
    """which data it is, where the same setting was run on other data too"""

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

    @property
    def score(self) -> str:
        """What its runs are measured by, for people."""
        return evaluation_of(self.runs[0].config).title

    def confusion(self, row: str, target: str) -> Evaluation | None:
        """Confusion counts, summed over the seeds that are done."""
        found = [run.targets[target] for run in self.rows[row].values() if target in run.targets]
        if not found:
            return None
        counts = zip(*(one.confusion for one in found), strict=True)
        return type(found[0])(tuple(tuple(map(sum, zip(*rows, strict=True))) for rows in counts))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, as the first run that is done has them."""
        done = [run.result for run in self.runs if run.result is not None]
        return tuple(done[0].get("classes", ())) if done else ()


def label(config: Plain) -> str:
    """The method as it is stored, and the options in which it differs from its own defaults.

    Example:
        >>> label({"method": "pro-randconv", "options": {"max_repeats": 5, "kernel_size": 3}})
        'pro-randconv (max_repeats 5)'
    """
    return with_changes(config["method"], changed_options(config))


def paper_names(config: Plain) -> tuple[str, ...]:
    """What the paper's tables call this method with these options.

    Example:
        >>> paper_names({"method": "progressive", "options": {"weights": "different"}})[0]
        'Progressive (Diff)'
    """
    rows = [row for table in paper_tables() for row in table["rows"] if "method" in row]
    own = (config["method"], changed_options(config))
    found = [row["row"].rstrip("*") for row in rows if (row["method"], row["options"]) == own]
    return tuple(dict.fromkeys(found))


@dataclass
class _Group:
    """Runs of one setting, and the data that they share as far as it is known."""

    setting: Plain
    data: dict[str, str] = field(default_factory=dict)
    runs: list[tuple[str, ReportedRun]] = field(default_factory=list)
    """each with the name of its row"""

    @property
    def identity(self) -> str:
        """A short name for the data."""
        first = self.runs[0][1]
        begun = [first.hash] if first.config.get("weights") else []
        return digest(repr(sorted(self.data.items())), *begun)[:8]

    def takes(self, setting: Plain, name: str, run: ReportedRun) -> bool:
        """Whether a run belongs here: same setting, same data, same first weights."""
        alike = (own for row, own in self.runs if row == name and own.config == run.config)
        # Older results do not have the hash of the weights, but the same run twice is one run.
        others = any(run.config.get("weights") and own.hash != run.hash for own in alike)
        return setting == self.setting and not others and not conflicts([self.data, run.data])


def comparisons(runs: Iterable[ReportedRun], names: Sequence[str] = ()) -> tuple[Comparison, ...]:
    """Put together what can be compared; runs on different data never are.

    Args:
        runs: to be put together.
        names: rows of a study's tables: a run that the paper gives such a name is called so, and
            they come first. Others are called by method and options, in the order of the methods.
    """
    groups: list[_Group] = []
    for run in sorted(runs, key=lambda run: run.result is None):  # what is done knows its data
        setting = {n: v for n, v in (DEFAULTS | run.config).items() if n not in FREE}
        name = _called(run.config, names)
        group = next((one for one in groups if one.takes(setting, name, run)), None)
        if group is None:
            groups.append(group := _Group(setting))
        group.data |= run.data
        group.runs.append((name, run))
    order = {name: place for place, name in enumerate(dict.fromkeys((*names, *METHODS)))}

    def place(called: tuple[str, ReportedRun]) -> tuple[int, str, int]:
        name, run = called
        own = order.get(name, order.get(run.config["method"], len(order)))
        return own, name, run.config["seed"]

    made = []
    for group in groups:
        title, data = _title(group.setting, [other.setting for other in groups]), ""
        if sum(other.setting == group.setting for other in groups) > 1:
            title, data = f"{title}, data {group.identity}", f"data: {described(group.data)}"
        made.append(_comparison(title, sorted(group.runs, key=place), data))
    return tuple(made)


def _comparison(title: str, called: Sequence[tuple[str, ReportedRun]], data: str) -> Comparison:
    rows: dict[str, dict[int, ReportedRun]] = {}
    for name, run in called:
        seeds = rows.setdefault(name, {})
        before = seeds.get(run.config["seed"])
        if before is None or _progress(before) < _progress(run):
            seeds[run.config["seed"]] = run
    erm = [name for name, run in called if run.config["method"] == BASELINE]
    return Comparison(title, rows, erm[0] if erm else None, data)


def _progress(run: ReportedRun) -> tuple[bool, int]:
    return run.result is not None, run.epoch


def table_of(comparison: Comparison, name: str) -> Table:
    """Methods by targets, with the weights that each run has selected."""
    runs, targets = comparison.runs, comparison.targets
    done = [run.result for run in runs if run.result is not None]
    seeds = tuple(sorted({run.config["seed"] for run in runs}))
    cells = {}
    for row, of_seeds in comparison.rows.items():
        paper = paper_row(comparison.firsts[row].config)
        for target in targets:
            found = [_score(of_seeds.get(seed), target) for seed in seeds]
            cells[row, target] = Cell(
                tuple(found), paper.targets.get(target) if paper is not None else None
            )
    averaged = [t for t in targets if done and all(t in result["averaged"] for result in done)]
    absent = sorted({name for result in done for name in result["absent"]})
    absence = f"absent, and in no average: {', '.join(absent)}" if absent else ""
    return Table(
        name,
        comparison.title,
        _reference(comparison),
        tuple(comparison.rows),
        targets,
        seeds,
        cells,
        score=comparison.score,
        baseline=comparison.baseline if len(comparison.rows) > 1 else None,
        averaged=tuple(averaged) if len(averaged) > 1 else (),
        notes=tuple(note for note in (absence, comparison.data) if note),
    )


def _score(run: ReportedRun | None, target: str) -> float | None:
    return run.targets[target].score if run is not None and target in run.targets else None


def _reference(comparison: Comparison) -> str:
    rows = [paper_row(run.config) for run in comparison.runs]
    return ", ".join(dict.fromkeys(row.table for row in rows if row is not None and row.targets))


def _called(config: Plain, names: Sequence[str]) -> str:
    return next((name for name in paper_names(config) if name in names), label(config))


def _title(setting: Plain, others: Sequence[Plain]) -> str:
    """What is compared; further fields only where others of the same name differ in them."""
    alike = [other for other in others if _name(other) == _name(setting)]
    differing = [n for n, v in setting.items() if any(other.get(n) != v for other in alike)]
    return _name(setting) + "".join(f", {name} {text_of(setting[name])}" for name in differing)


def _name(config: Plain) -> str:
    epochs = f"{config['epochs']} epoch{'s' if config['epochs'] > 1 else ''}"
    source = " + ".join(config["source"])
    return f"{config['benchmark']} from {source}, {config['network']}, {epochs}"
