"""Commands on folders of runs: list them, remove what finished ones no longer need."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:  # commands import what they call when they run: --help must not wait for torch
    from ..report.listing import ListedRun

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
        from ..report.listing import list_runs

        found = list_runs(self.directory)
        if self.json:
            print(json.dumps([one.to_mapping() for one in found], indent=1))
            return 0
        out.print(runs_table(found))
        for one in found:
            for problem in one.problems:
                out.print(f"{one.path}: {problem}", soft_wrap=True, markup=False)
        out.print(f"{len(found)} runs in {self.directory}", soft_wrap=True)
        return 0


def runs_table(runs: list[ListedRun]) -> Table:
    """A row for each run; at 80 columns cells are folded, never cut."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("method", overflow="fold", min_width=12)
    table.add_column("trained on", overflow="fold", min_width=11)
    for name in ("seed", "epoch", "val", "avg"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("age", no_wrap=True, min_width=6)
    for one in runs:
        table.add_row(
            Path(one.path).name,
            method_text(one.method, one.options),
            f"{one.benchmark} {' + '.join(one.source)}".strip(),
            "" if one.seed is None else str(one.seed),
            "" if one.epochs is None else f"{one.epoch}/{one.epochs}",
            "" if one.validation is None else f"{one.validation:.1f}",
            "" if one.average is None else f"{one.average:.1f}",
            one.status,
            age(one.age),
        )
    return table


def method_text(method: str, options: Mapping[str, Any]) -> str:
    """A method and what differs from its defaults, for people.

    Example:
        >>> method_text("erm", {"image_size": 128})
        'erm (image_size 128)'
    """
    changed = ", ".join(f"{name} {value}" for name, value in options.items())
    return f"{method} ({changed})" if changed else method


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
