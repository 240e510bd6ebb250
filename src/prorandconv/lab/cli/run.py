"""Commands on the network of a run: evaluate, predict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:  # commands import what they call when they run: --help must not wait for torch
    from ..paper import PaperRow


@dataclass(frozen=True)
class Evaluate:
    """Measure a run's network on every target that is present."""

    run_directory: tyro.conf.Positional[Path]
    """runs/<benchmark>/<method>/<source>/<hash>"""
    which: Literal["best", "last"] = "best"
    """the best weights by validation, or the last ones"""
    trust_code: bool = False
    """import a method or network that the run names as package.module:function"""
    data_root: Path | None = None
    """folder of data sets (default: the run's)"""
    json: bool = False
    """print everything as JSON, confusion counts included"""

    def run(self, out: Console) -> int:
        """Measure and print."""
        from ..paper import paper_row
        from ..run.trained import load_trained

        trained = load_trained(
            self.run_directory,
            self.which,
            data_root=self.data_root,
            trust_code=self.trust_code,
        )
        found = {name: one.to_mapping() for name, one in trained.evaluate().items()}
        if self.json:
            print(json.dumps(found))
            return 0
        result = {
            "averaged": [name for name in trained.benchmark.domains if name in found],
            "absent": [n for n in trained.benchmark.missing() if n not in trained.config.source],
            self.which: {"targets": found},
        }
        out.print(targets_table(result, paper_row(trained.config)))
        return 0


@dataclass(frozen=True)
class Predict:
    """Say what a run's network takes images for."""

    run_directory: tyro.conf.Positional[Path]
    """runs/<benchmark>/<method>/<source>/<hash>"""
    images: tyro.conf.Positional[tuple[Path, ...]]
    """image files"""
    which: Literal["best", "last"] = "best"
    """the best weights by validation, or the last ones"""
    trust_code: bool = False
    """import a method or network that the run names as package.module:function"""

    def run(self, out: Console) -> int:
        """Predict and print a line for each image."""
        from ..run.trained import load_trained

        trained = load_trained(self.run_directory, self.which, trust_code=self.trust_code)
        for found in trained.predict(self.images):
            line = f"{found.path}: {found.label} ({100 * found.probability:.1f} %)"
            out.print(line, highlight=False, soft_wrap=True)
        return 0


CHOICES = {
    "best_validation": "best validation",
    "best": "best validation",
    "last": "last epoch",
    "oracle": "oracle: best target",
}


def targets_table(result: Mapping[str, Any], paper: PaperRow | None) -> Table:
    """Accuracies on the targets by choice of weights, beside the paper's."""
    choices = [name for name in CHOICES if result.get(name)]
    table = Table(title="accuracy on unseen domains, %", title_justify="left")
    table.add_column("target")
    for name in choices:
        epoch = result[name].get("epoch")
        table.add_column(CHOICES[name] + (f"\n(epoch {epoch})" if epoch else ""), justify="right")
    if paper is not None:
        table.add_column(f"paper: {paper.row}\n({paper.table})", justify="right")
    averaged = tuple(result["averaged"])
    names = dict.fromkeys([*averaged, *(result[choices[0]]["targets"] if choices else ())])
    for name in names:
        cells = [f"{result[choice]['targets'][name]['accuracy']:.2f}" for choice in choices]
        if paper is not None:
            cells.append(f"{paper.targets[name]:.2f}" if name in paper.targets else "")
        table.add_row(name if name in averaged else f"{name} (extra)", *cells)
    for name in result["absent"]:
        published = paper.targets.get(name) if paper is not None else None
        shown = [] if paper is None else ["" if published is None else f"{published:.2f}"]
        table.add_row(name, *["absent"] * len(choices), *shown)
    table.add_section()
    cells = [_mean([result[c]["targets"][n]["accuracy"] for n in averaged]) for c in choices]
    if paper is not None:
        average = paper.average_over(averaged)
        cells.append("" if average is None else f"{average:.2f}")
    table.add_row("average of these" if result["absent"] else "average", *cells)
    return table


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.2f}" if values else ""
