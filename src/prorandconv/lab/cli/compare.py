"""The command that compares runs image by image."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Table

from ..options import OrDefault
from .run import Loading, LoadingOptions

if TYPE_CHECKING:  # commands import what they call when they run: --help must not wait for torch
    from ..report.differences import Difference
    from ..report.pairing import PairedComparison


@dataclass(frozen=True)
class Compare:
    """Compare runs with the first one: paired by image and by seed, by target and by class.

    Runs that differ in nothing but the seed are taken together. Every network classifies the
    images of all common targets again. "By image" is the 95 % interval of the difference for
    other images of the same kind and these networks (Bonett and Price's, for paired
    proportions); "by seed" the one for other seeds (Student's t, from three seeds on; else the
    differences).
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
        from ..report.pairing import compare_runs

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
    out.print(f"A: {one.first}\nB: {one.second}", markup=False)
    seeds = ", ".join(f"{a}" if a == b else f"{a} and {b}" for a, b in one.seeds)
    out.print(f"accuracy in %, B - A in points with 95 % intervals; seeds: {seeds}")
    for note in one.notes:
        out.print(note)
    out.print()
    out.print(differences_table("target", one.targets))
    out.print()
    out.print(differences_table("class", one.classes))


def differences_table(title: str, rows: Iterable[Difference]) -> Table:
    """A row for each target or class."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(title, overflow="fold")
    for name in ("images", "A", "B", "B - A", "by image", "by seed"):
        table.add_column(name, justify="right", overflow="fold")
    for row in rows:
        interval, seeds = row.seed_interval, row.by_seed
        single = ", ".join(f"{value:+.1f}" for value in seeds) if len(seeds) > 1 else ""
        table.add_row(
            row.name,
            str(row.images),
            f"{row.first:.1f}",
            f"{row.second:.1f}",
            f"{row.difference:+.1f}",
            _bracketed(row.by_image),
            single if interval is None else _bracketed(interval),
        )
    return table


def _bracketed(interval: tuple[float, float]) -> str:
    return f"\\[{interval[0]:+.1f}, {interval[1]:+.1f}]"
