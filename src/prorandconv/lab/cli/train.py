"""The command that trains: its options are the fields of a run, so it needs the methods."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from ..data import BENCHMARKS
from ..errors import StoppedError, unknown_name
from ..methods import method_class
from ..options import OrDefault
from ..paper import paper_row
from ..run.config import Execution, RunConfig
from ..run.recipes import with_recipe
from ..run.values import method_from
from .run import targets_grid


@dataclass(frozen=True)
class Train:
    """Train one run, or resume it.

    To resume a run that was stopped, run the same command. The run's directory is named by a hash
    of what is given here. Defaults are the benchmark's, so that the paper's run needs no further
    options: they are shown for the --benchmark, --method and --source that are on the command
    line.
    """

    run_config: Annotated[RunConfig, tyro.conf.arg(name="")] = field(default_factory=RunConfig)
    execution: Annotated[Execution, tyro.conf.arg(name="")] = field(default_factory=Execution)
    recipe: Literal["paper", "plus", "authors"] = "paper"
    """plus: Pro-RandConv with consistency and jitter, as shifted validation prefers on Digits;
    authors: optimiser, batch, schedule and epochs of the method's authors; further options change
    that"""
    config: OrDefault[Path] = None
    """read a config.json first; further options on the command line change it"""
    trust_code: bool = False
    """import a method or network that the file names as package.module:function"""

    def run(self, out: Console) -> int:
        """Train and print the targets."""
        from ..report.formats import print_grid
        from ..run.distributed import is_first
        from ..run.training import train
        from ..study.estimate import long_run_warning

        config = self.run_config if self._as_stored() else self.run_config.with_changes()
        first = is_first()
        if first and (warning := long_run_warning(config, self.execution)) is not None:
            print(warning, file=sys.stderr, flush=True)
        try:
            result = train(config, self.execution)
        except StoppedError as stopped:
            out.print(str(stopped), soft_wrap=True)
            return 130
        if not first:
            return 0
        print_grid(out, targets_grid(result, paper_row(config)))
        out.print(str(config.directory(self.execution.runs)), soft_wrap=True)
        return 0

    def _as_stored(self) -> bool:
        """Whether nothing on the command line changes a config file: it then needs no data."""
        file = self.config
        return file is not None and self.run_config == RunConfig.read(
            file, trust_code=self.trust_code
        )

    @classmethod
    def defaults(cls, words: Sequence[str]) -> Train:
        """The defaults that fit the benchmark, method, sources and recipe on the command line."""
        peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        for name in (
            "--benchmark",
            "--method",
            "--data-root",
            "--config",
            "--network",
            "--weights",
            "--recipe",
        ):
            peek.add_argument(name)
        peek.add_argument("--source", nargs="+")
        try:
            seen = {k: v for k, v in vars(peek.parse_known_args(words)[0]).items() if v is not None}
        except argparse.ArgumentError:
            seen = {}
        if seen.get("benchmark", "digits") not in BENCHMARKS:  # before anything waits for torch
            raise unknown_name("benchmark", seen["benchmark"], BENCHMARKS)
        file, recipe = seen.pop("config", None), seen.pop("recipe", "paper")
        if file is None:
            config = RunConfig.from_mapping(seen, origin="command line", trust_code=True)
            # What options leave to the images is decided when all of them are known.
            usual = method_class(config.method).options_on(config.benchmark)
            config = replace(config, options=method_from(config.method, usual), data=None)
            return cls(with_recipe(config, recipe))
        config = RunConfig.read(Path(file), trust_code="--trust-code" in words)
        return cls(with_recipe(config.with_changes(**seen) if seen else config, recipe))
