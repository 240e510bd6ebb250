"""Commands on validation: which runs it prefers, and how well it ranks them."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table

from ..errors import unknown_name
from ..options import SHOWN_DEFAULT
from .runs import Folder, method_text

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
        from ..report.choice import candidates

        found = candidates(self.directory, known_families(self.without))
        if self.json:
            print(json.dumps([one.to_mapping() for one in found], indent=1))
            return 0
        table = Table("trained on", box=None, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("method", overflow="fold", min_width=12)
        for name in ("epochs", "seeds", "val", "val_shifted"):
            table.add_column(name, justify="right", no_wrap=True)
        for one in found:
            scores = [f"{statistics.fmean(figures):.2f}" for figures in (one.val, one.val_shifted)]
            counts = (str(one.epochs), str(len(one.seeds)))
            table.add_row(one.where, method_text(one.method, one.options), *counts, *scores)
        out.print(table)
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
        from ..report.ranking import rankings

        found = rankings(self.directory, known_families(self.without))
        if self.json:
            print(json.dumps([one.to_mapping() for one in found], indent=1))
            return 0
        table = Table("ranked", "trained on", box=None, padding=(0, 1, 0, 0), pad_edge=False)
        for name in ("runs", "figures", "val", "val_shifted"):
            table.add_column(name, justify="right", no_wrap=True)
        for one in found:
            correlations = (f"{one.val:.2f}", f"{one.val_shifted:.2f}")
            table.add_row(one.over, one.where, str(one.runs), str(one.figures), *correlations)
        out.print(table)
        return 0
