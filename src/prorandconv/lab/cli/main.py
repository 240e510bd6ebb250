"""The ``prorandconv`` command: parses, calls, prints; decides nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import tyro
from rich.console import Console

from ...errors import ProRandConvError
from .data import Data
from .report import Report
from .run import Evaluate, Predict, Train, train_defaults
from .study import Study

# Commands import what they call when they run: --help must not wait for data and networks.


@dataclass(frozen=True)
class Quickstart:
    """Train ERM and Pro-RandConv on digits-mini and show both on four unseen domains (minutes)."""

    output: Path = Path("quickstart")
    """folder for the table, the plot, the sheet of augmented digits, and the runs"""
    epochs: int = 12
    """of each run"""
    seeds: tuple[int, ...] = (0,)
    """a pair of runs for each seed; figures are means"""

    def run(self, out: Console) -> int:
        """Train, print and write."""
        from ..quickstart import quickstart

        return quickstart(out, self.output, epochs=self.epochs, seeds=self.seeds)


@dataclass(frozen=True)
class Version:
    """Print the version."""

    def run(self, out: Console) -> int:
        """Print it."""
        from importlib.metadata import version

        out.print(version("prorandconv"), highlight=False)
        return 0


Command = Data | Train | Evaluate | Predict | Study | Report | Quickstart | Playground | Version
"""What can be called; a further command is one more dataclass with a method ``run``."""


def _commands(words: Sequence[str]) -> type[Command]:
    """The commands, with the defaults that fit the words."""
    train = train_defaults(words) if "train" in words[:1] else Train()
    known = (
        Annotated[Data, tyro.conf.subcommand("data")]
        | Annotated[Train, tyro.conf.subcommand("train", default=train)]
        | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
        | Annotated[Predict, tyro.conf.subcommand("predict")]
        | Annotated[Study, tyro.conf.subcommand("study")]
        | Annotated[Report, tyro.conf.subcommand("report")]
        | Annotated[Quickstart, tyro.conf.subcommand("quickstart")]
        | Annotated[Playground, tyro.conf.subcommand("playground")]
        | Annotated[Version, tyro.conf.subcommand("version")]
    )
    return cast(type[Command], known)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with the command's exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        command = tyro.cli(
            _commands(words),
            prog="prorandconv",
            config=(tyro.conf.OmitSubcommandPrefixes,),
            description="Progressive random convolutions: data, training, studies and reports.",
            args=words,
        )
        code = command.run(Console(width=None if sys.stdout.isatty() else 160))
    except ProRandConvError as error:
        print(f"prorandconv: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("prorandconv: interrupted; the same command goes on", file=sys.stderr)
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
