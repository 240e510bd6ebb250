"""Commands on folders of runs: list them, remove what finished ones no longer need."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from ..errors import unknown_name
from ..options import SHOWN_DEFAULT, OrDefault
from ..paper import with_changes
from .run import Loading, LoadingOptions

if TYPE_CHECKING:
    from ..report.grid import Grid
    from ..report.listing import ListedRun
    from ..report.paired import Difference, PairedComparison


Folder = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]


@dataclass(frozen=True)
class Runs:
    """List the runs in a folder, a line each.

    Accuracies, or mIoU of runs that segment, are in %: on the sources' validation split, and the
    average over the targets with the weights that each run has selected.
    """

    directory: Folder = Path("runs")
    """folder with runs in it, at any depth"""
    json: bool = False
    """print everything as JSON, figures by target included"""

    def run(self, out: Console) -> int:
        """Print the list."""
        from ..report.formats import terminal
        from ..report.listing import list_runs

        found = list_runs(self.directory)
        if self.json:
            print(json.dumps([one.to_mapping() for one in found], indent=1))
            return 0
        out.print(terminal(runs_grid(found)))
        for one in found:
            for problem in one.problems:
                out.print(f"{one.path}: {problem}", soft_wrap=True)
        out.print(f"{len(found)} runs in {self.directory}", soft_wrap=True)
        return 0


def runs_grid(runs: Sequence[ListedRun]) -> Grid:
    """A line for each run."""
    from ..report.grid import Grid

    def shown(score: float | None) -> str:
        return "" if score is None else f"{score:.1f}"

    head = ("run", "method", "trained on", "seed", "epoch", "val", "avg", "state", "age")
    rows = [
        (
            Path(one.path).name,
            with_changes(one.method, one.options),
            f"{one.benchmark} {' + '.join(one.source)}".strip(),
            "" if one.seed is None else str(one.seed),
            "" if one.epochs is None else f"{one.epoch}/{one.epochs}",
            shown(one.validation),
            shown(one.average),
            one.status,
            age(one.age),
        )
        for one in runs
    ]
    return Grid.of(head, rows, words=2)


def age(seconds: float) -> str:
    """How long ago, in one unit.

    Example:
        >>> age(20), age(200), age(7500), age(200_000)
        ('20 s', '3 min', '2 h', '2 d')
    """
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


@dataclass(frozen=True)
class Prune:
    """Remove the checkpoints of finished runs, after saying which and how much.

    Results, metrics and the best weights stay. Unfinished runs, runs in use and runs without
    intact best weights keep their checkpoints. Without its checkpoint, the last weights of a run
    are gone, which other commands take with --which last.
    """

    directory: Folder = Path("runs")
    """folder with runs in it, at any depth"""
    dry_run: bool = False
    """only say what would be removed"""
    yes: bool = False
    """remove without asking"""

    def run(self, out: Console) -> int:
        """List, ask, remove."""
        from ..run.directory import prunable, prune, run_directories

        found = prunable(run_directories(self.directory))
        for one in found:
            names = ", ".join(path.name for path in one.files)
            out.print(f"{one.run}: {names} ({_megabytes(one.bytes)})", soft_wrap=True)
        total = _megabytes(sum(one.bytes for one in found))
        out.print(f"{len(found)} finished runs with checkpoints, {total}")
        if self.dry_run or not found:
            return 0
        if not (self.yes or _agreed()):
            out.print("nothing was removed; --yes removes without asking")
            return 1
        in_use = [one for one in found if not prune(one)]
        for one in in_use:
            out.print(f"{one.run}: kept, because a process is at work on it", soft_wrap=True)
        removed = sum(one.bytes for one in found if one not in in_use)
        out.print(f"removed {_megabytes(removed)}")
        return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("remove them? [y/N] ").strip().lower() in ("y", "yes")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@dataclass(frozen=True)
class Compare:
    """Compare runs with the first one: paired by image and by seed, by target and by class.

    Runs that differ in nothing but the seed are taken together. Every network classifies the
    images of all common targets again. "By image" is the 95 % interval of the difference for
    other images of the same kind and these networks (Bonett and Price's, for paired
    proportions; of segmentation, by mIoU, a bootstrap over scenes); "by seed" the one for other
    seeds (Student's t, from three seeds on; else the differences).
    """

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="RUN RUN ...", help_behavior_hint="(required)"),
    ]
    """directories of runs, two or more: runs/<benchmark>/<method>/<source>/<hash>"""
    loading: LoadingOptions = field(default_factory=Loading)
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the first run's)"""
    accelerator: str = "auto"
    """auto, cpu, cuda or mps"""
    json: bool = False
    """print everything as JSON"""

    def run(self, out: Console) -> int:
        """Classify, compare and print."""
        from ..report.paired import compare_runs

        load = partial(self.loading.load, accelerator=self.accelerator, data_root=self.data_root)
        found = compare_runs(self.runs, load)
        if self.json:
            print(json.dumps([one.to_mapping() for one in found], indent=1))
            return 0
        for number, one in enumerate(found):
            if number:
                out.print()
            _print(one, out)
        return 0


def _print(one: PairedComparison, out: Console) -> None:
    from ..report.formats import terminal

    out.print(f"A: {one.first}\nB: {one.second}")
    seeds = ", ".join(f"{a}" if a == b else f"{a} and {b}" for a, b in one.seeds)
    out.print(f"{one.score} in %, B - A in points with 95 % intervals; seeds: {seeds}")
    for note in one.notes:
        out.print(note)
    out.print()
    out.print(terminal(differences_grid("target", one.targets)))
    out.print()
    out.print(terminal(differences_grid("class", one.classes)))


def differences_grid(title: str, rows: Iterable[Difference]) -> Grid:
    """A line for each target or class."""
    from ..report.grid import Grid

    head = (title, "images", "A", "B", "B - A", "by image", "by seed")
    return Grid.of(head, [_cells(row) for row in rows])


def _cells(row: Difference) -> tuple[str, ...]:
    interval, seeds = row.seed_interval, row.by_seed
    single = ", ".join(f"{value:+.1f}" for value in seeds) if len(seeds) > 1 else ""
    return (
        row.name,
        str(row.images),
        f"{row.first:.1f}",
        f"{row.second:.1f}",
        f"{row.difference:+.1f}",
        _bracketed(row.by_image),
        single if interval is None else _bracketed(interval),
    )


def _bracketed(interval: tuple[float, float]) -> str:
    return f"[{interval[0]:+.1f}, {interval[1]:+.1f}]"


Without = Annotated[tuple[str, ...], SHOWN_DEFAULT]


def known_families(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of families of shifts, if there are such."""
    from ..data.shifts import FAMILIES

    for name in names:
        if name not in FAMILIES:
            raise unknown_name("--without", name, FAMILIES)
    return names


@dataclass(frozen=True)
class Choose:
    """List the kinds of runs in a folder by shifted validation, the best first.

    No target is looked at. Runs that differ only in their seed are one line: the mean over seeds
    of the best epoch's accuracy on validation images, as they are and under shifts. Finished runs
    that were trained with shifted validation count.
    """

    directory: Folder = Path("runs")
    """folder with runs in it, at any depth"""
    without: Without = ()
    """families of shifts that do not count, such as zoom-and-shift, which jitter trains with"""
    json: bool = False
    """print everything as JSON, by seed"""

    def run(self, out: Console) -> int:
        """Read the runs and print a line for each kind."""
        from ..report.validation import candidates

        found = candidates(self.directory, known_families(self.without))
        if self.json:
            print(json.dumps([one.to_mapping() for one in found], indent=1))
            return 0
        from ..report.formats import terminal
        from ..report.grid import Grid

        rows = [
            (
                one.where,
                with_changes(one.method, one.options),
                str(one.epochs),
                str(len(one.seeds)),
                *(f"{statistics.fmean(scores):.2f}" for scores in (one.val, one.val_shifted)),
            )
            for one in found
        ]
        head = ("trained on", "method", "epochs", "seeds", "val", "val_shifted")
        out.print(terminal(Grid.of(head, rows, words=1)))
        return 0


@dataclass(frozen=True)
class Rank:
    """Say how well validation ranks runs and epochs, against the targets.

    Spearman's rank correlation with the average accuracy over the targets: of plain validation,
    and of validation images under shifts. Runs with the same data and network are compared by
    their last weights; epochs within each run, the mean over runs. Nothing is selected by it.
    """

    directory: Folder = Path("runs")
    """folder with runs in it, at any depth"""
    without: Without = ()
    """families of shifts that do not count, such as zoom-and-shift, which jitter trains with"""
    json: bool = False
    """print everything as JSON"""

    def run(self, out: Console) -> int:
        """Read the runs and print a line for each benchmark, source and network."""
        from ..report.validation import rankings

        found = rankings(self.directory, known_families(self.without))
        if self.json:
            print(json.dumps([one.to_mapping() for one in found], indent=1))
            return 0
        from ..report.formats import terminal
        from ..report.grid import Grid

        rows = [
            (
                *(one.over, one.where, str(one.runs), str(one.figures)),
                *(f"{one.val:.2f}", f"{one.val_shifted:.2f}"),
            )
            for one in found
        ]
        head = ("ranked", "trained on", "runs", "figures", "val", "val_shifted")
        out.print(terminal(Grid.of(head, rows, words=1)))
        return 0
