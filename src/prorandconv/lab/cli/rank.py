"""The command that asks how well validation ranks runs and epochs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table

from ..options import SHOWN_DEFAULT
from .runs import Folder


@dataclass(frozen=True)
class Rank:
    """Say how well validation ranks runs and epochs, against the targets.

    Spearman's rank correlation with the average accuracy over the targets: of plain validation,
    and of validation images under shifts. Runs with the same data and network are compared by
    their last weights; epochs within each run, the mean over runs. Nothing is selected by it.
    """

    directory: Folder = Path("runs")
    """folder with runs in it, at any depth"""
    without: Annotated[tuple[str, ...], SHOWN_DEFAULT] = ()
    """families of shifts that do not count, such as zoom-and-shift, which jitter trains with"""
    json: bool = False
    """print everything as JSON"""

    def run(self, out: Console) -> int:
        """Read the runs and print a line for each benchmark, source and network."""
        from ..report.ranking import rankings

        found = rankings(self.directory, self.without)
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
