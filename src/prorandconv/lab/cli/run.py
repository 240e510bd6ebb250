"""Commands about one run: train, evaluate, predict."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table

from ..paper import PaperRow, paper_row
from ..run.config import Execution, RunConfig


@dataclass(frozen=True)
class Train:
    """Train one run, or go on with it; its directory is named by a hash of what is given here.

    Defaults are the benchmark's, so that the paper's run needs no further options: they are shown
    for the --benchmark, --method and --source that are on the command line.
    """

    run_config: Annotated[RunConfig, tyro.conf.arg(name="")] = field(default_factory=RunConfig)
    execution: Annotated[Execution, tyro.conf.arg(name="")] = field(default_factory=Execution)
    config: Path | None = None
    """read a config.json first; what else is on the command line changes it"""
    trust_code: bool = False
    """import a method or network that the file names as package.module:function"""

    def run(self, out: Console) -> int:
        """Train and print the targets."""
        from ..run.training import StoppedError, train
        from ..study.estimate import long_run_warning

        config = self.run_config if self._as_stored() else self.run_config.renewed()
        if (warning := long_run_warning(config, self.execution)) is not None:
            print(warning, file=sys.stderr, flush=True)
        try:
            result = train(config, self.execution)
        except StoppedError as stopped:
            out.print(str(stopped), highlight=False, soft_wrap=True)
            return 130
        if os.environ.get("RANK", "0") != "0":
            return 0
        out.print(targets_table(result, paper_row(config)))
        out.print(str(config.directory(self.execution.runs)), highlight=False, soft_wrap=True)
        return 0

    def _as_stored(self) -> bool:
        """Whether nothing on the command line changes a config file: it then needs no data."""
        file = self.config
        return file is not None and self.run_config == RunConfig.read(
            file, trust_code=self.trust_code
        )


def train_defaults(words: Sequence[str]) -> Train:
    """The defaults that fit the benchmark, method and sources on the command line."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--benchmark", "--method", "--data-root", "--config", "--network", "--weights"):
        peek.add_argument(name)
    peek.add_argument("--source", nargs="+")
    try:
        seen = {k: v for k, v in vars(peek.parse_known_args(words)[0]).items() if v is not None}
    except argparse.ArgumentError:
        seen = {}
    file = seen.pop("config", None)
    if file is None:
        return Train(RunConfig.from_mapping(seen, origin="command line", trust_code=True))
    config = RunConfig.read(Path(file), trust_code="--trust-code" in words)
    return Train(config.renewed(**seen) if seen else config)


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
