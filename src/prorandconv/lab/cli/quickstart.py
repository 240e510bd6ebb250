"""The command that shows the method in a few minutes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console


@dataclass(frozen=True)
class Quickstart:
    """Train ERM and Pro-RandConv on digits-mini and show both on four unseen domains (minutes)."""

    output: Path = Path("quickstart")
    """folder for the table, the plot, the sheet of augmented digits, and the runs"""
    epochs: int = 12
    """number of epochs of each run"""
    seeds: tuple[int, ...] = (0,)
    """a pair of runs for each seed; figures are means"""

    def run(self, out: Console) -> int:
        """Train, print and write."""
        from ..quickstart import quickstart

        return quickstart(out, self.output, epochs=self.epochs, seeds=self.seeds)
