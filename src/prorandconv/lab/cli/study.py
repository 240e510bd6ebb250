"""The command on studies: runs what is missing, skips what is done, prints the tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from ..errors import StoppedError, unknown_name
from ..launch import Launcher, LaunchOptions, get_launcher
from ..options import OrDefault
from ..run.config import Execution
from ..study.settings import Settings
from ..study.studies import STUDIES

if TYPE_CHECKING:  # the list of studies must not wait for torch
    import torch

    from ..report.grid import Grid
    from ..study.directory import StudyDirectory


@dataclass(frozen=True)
class Study:
    """Run a table or figure of the paper; what is done is not run again.

    Without a name, the studies are listed. The tables are printed and stored in
    RUNS/studies/NAME/<hash>/study.json.
    """

    name: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="[NAME]", help=", ".join(STUDIES), help_behavior_hint=""),
    ] = None
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)
    execution: Annotated[Execution, tyro.conf.arg(name="")] = field(
        default_factory=lambda: Execution(wait=True)
    )
    launch: Annotated[LaunchOptions, tyro.conf.arg(name="")] = field(default_factory=LaunchOptions)
    results: OrDefault[Path] = None
    """folder with copies of result.json of earlier runs, by any names, which count as done"""
    full: bool = False
    """print intervals, the paper's figures and gains too; study.json always has the figures"""
    dry_run: bool = False
    """list the runs, how long they will take and how much disk, and run nothing"""
    list: bool = False
    """list the studies with their numbers of runs"""

    def run(self, out: Console) -> int:
        """Run the study and print its tables."""
        if self.list or self.name is None:
            from ..report.formats import terminal

            out.print(terminal(studies_grid(counted=self.list), boxed=True))
            return 0
        if self.name not in STUDIES:
            raise unknown_name("study", self.name, STUDIES)
        from ..study.directory import StudyDirectory

        directory = StudyDirectory(self.name, self.settings, self.execution.runs, self.results)
        if self.results is not None:
            text = f"{directory.imported} results of {self.results} imported"
            out.print(text, soft_wrap=True)
        launcher = get_launcher(self.launch)
        device = _device(self.execution.accelerator)
        if self.dry_run:
            _show_runs(out, directory, launcher, device, keep=self.execution.keep_checkpoint)
            return 0
        return self._execute(out, directory, launcher, device)

    def _execute(
        self, out: Console, directory: StudyDirectory, launcher: Launcher, device: torch.device
    ) -> int:
        from ..launch import Outcome
        from ..report.formats import print_tables
        from ..study.directory import StudyDisplay

        missing = directory.missing()
        display = StudyDisplay(directory.name, len(missing), shown=not self.execution.quiet)
        failed = 0

        def on_done(outcome: Outcome) -> None:
            nonlocal failed
            failed += outcome.result is None and not outcome.diverged
            directory.record(outcome)
            directory.write(device)
            display.ended(outcome)

        quiet = self.execution.quiet or launcher.width > 1
        try:
            if missing:
                launcher(missing, replace(self.execution, quiet=quiet), on_done)
        except StoppedError as stopped:
            out.print(str(stopped), soft_wrap=True)
            return 130
        directory.measure(self.execution.accelerator)
        path = directory.write(device)
        print_tables(out, directory.tables(), full=self.full)
        for key, problem in directory.known.failures.items():
            out.print(f"failed: {directory.folders[key]}: {problem}", soft_wrap=True)
        out.print(str(path), soft_wrap=True)
        return 1 if failed else 0


def studies_grid(*, counted: bool) -> Grid:
    """Every study, what it shows, and its number of runs for a seed on the paper's benchmarks.

    Args:
        counted: count the runs, which takes seconds.
    """
    from ..report.grid import Grid

    head = ("study", "shows", "paper", *["runs"] * counted)
    rows = [
        (name, one.shows, one.reference, *(str(one.runs) for _ in range(counted)))
        for name, one in STUDIES.items()
    ]
    return Grid.of(head, rows, words=2)


def _show_runs(
    out: Console,
    directory: StudyDirectory,
    launcher: Launcher,
    device: torch.device,
    *,
    keep: bool,
) -> None:
    from rich.filesize import decimal

    from ..report.formats import terminal
    from ..report.grid import Grid
    from ..run.display import duration
    from ..study.directory import described
    from ..study.estimate import Estimator

    missing = directory.missing()
    estimator = Estimator(directory.runs, device, launcher.threads)
    seconds = dict(zip((c.hash for c in missing), estimator.seconds(missing), strict=True))
    rows = [
        (
            described(config),
            str(directory.folders[key]),
            directory.state(key),
            duration(seconds[key]) if key in seconds else "",
        )
        for key, config in directory.configs.items()
    ]
    out.print(f"{directory.name}:")
    out.print(terminal(Grid.of(("run", "directory", "state", "time"), rows, words=2)))
    total = sum(seconds.values())
    width = min(launcher.width, max(len(missing), 1))
    longest = max(seconds.values(), default=0.0)
    out.print(
        f"{len(missing)} of {len(directory.configs)} runs to do: {duration(total)} of work with "
        f"{launcher.threads} thread(s) a run; about {duration(max(total / width, longest))} with "
        f"{width} at a time; {decimal(estimator.disk(missing, width, keep=keep))} of disk"
    )


def _device(accelerator: str) -> torch.device:
    from ..run.environment import device_of

    return device_of(accelerator)
