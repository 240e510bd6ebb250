"""The command that trains; its flags are the fields of a run's config."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from .config import Execution, RunConfig
from .paper import paper_row
from .run_commands import targets_table


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

    def run(self, out: Console) -> int:
        """Train and print the targets."""
        from .training import StoppedError, train

        config = RunConfig.from_mapping(self.run_config.to_mapping(), origin="command line")
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
    stored: dict[str, Any] = {}
    if file is not None:
        stored = RunConfig.read(Path(file)).to_mapping()
        if seen.get("method", stored["method"]) != stored["method"]:
            del stored["options"]
    return Train(RunConfig.from_mapping(stored | seen, origin="command line"))
