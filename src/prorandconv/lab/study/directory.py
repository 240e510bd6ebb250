"""A study under way: its runs, what is known of them, and the file that stores it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch

from ...errors import require
from ..errors import RunError
from ..files import write_text
from ..launch import Outcome
from ..paper import changes
from ..run.config import RunConfig
from ..run.data import finished
from ..run.directory import METRICS, RESULT, STATE, RunDirectory, notes
from ..run.display import duration
from ..run.environment import command, environment
from ..run.stored import Result, conflicts, selected
from ..run.stored import fingerprints as fingerprints_of
from .plan import Known
from .settings import Settings
from .studies import get_study
from .table import STUDY, Table

State = Literal["done", "failed", "begun", "to do"]


class StudyDirectory:
    """The runs and tables of a study, and ``runs/studies/<name>/<hash of the settings>/``.

    Args:
        name: the study's.
        settings: the user's.
        runs: folder of all runs.
        kept: folder with results of runs that are no longer there, which count as done.
    """

    def __init__(self, name: str, settings: Settings, runs: Path, kept: Path | None = None) -> None:
        self.name, self.settings, self.runs = name, settings, runs
        self.study = get_study(name)
        self.path = runs / "studies" / name / settings.hash
        self.plan = self.study.plan(settings)
        self.configs = self.plan.runs
        """all runs by hash"""
        self.folders = {key: config.directory(runs) for key, config in self.configs.items()}
        self.imported = 0 if kept is None else import_results(kept, self.configs, runs)
        """how many results were taken from those that were kept"""
        self.known = Known()
        self.measured: tuple[Table, ...] = ()
        self._data: dict[str, str] = {}
        fingerprints: dict[object, str] = {}
        for key, config in self.configs.items():
            self.known.messages[key] = notes(self.folders[key])
            try:
                done = finished(config, runs, fingerprints)
            except RunError as error:
                self.known.failures[key] = str(error)
                continue
            if done is not None:
                self._accept(key, done.result)

    def state(self, key: str) -> State:
        """How far a run is."""
        if key in self.known.results:
            return "done"
        if key in self.known.failures:
            return "failed"
        return "begun" if (self.folders[key] / STATE).exists() else "to do"

    def missing(self) -> list[RunConfig]:
        """Runs that are not done."""
        return [config for key, config in self.configs.items() if key not in self.known.results]

    def record(self, outcome: Outcome) -> None:
        """Record how a run ended."""
        key = outcome.config.hash
        self.known.messages[key] = outcome.messages
        if outcome.result is not None:
            self._accept(key, outcome.result)
        else:
            self.known.failures[key] = outcome.problem

    def _accept(self, key: str, result: Result) -> None:
        """Use a result, unless it is on other data than the results before it."""
        data = fingerprints_of(result)
        if different := conflicts([self._data, data]):
            self.known.failures[key] = f"not on the same data as the other runs: {different}"
            return
        self._data |= data
        self.known.results[key] = result
        self.known.failures.pop(key, None)

    def tables(self) -> tuple[Table, ...]:
        """The tables with what is known."""
        known = (self.plan.table(table, self.known) for table in self.plan.tables)
        return (*known, *self.measured)

    def measure(self, accelerator: str) -> None:
        """Measure what is not read from results."""
        self.measured = self.study.measure(self.settings, self.runs, accelerator)

    def write(self, device: torch.device) -> Path:
        """Write ``study.json``, whole or not at all."""
        path = self.path / STUDY
        write_text(path, json.dumps(self._content(device), indent=1) + "\n")
        return path

    def _content(self, device: torch.device) -> dict[str, Any]:
        where = {key: os.path.relpath(path, self.path) for key, path in self.folders.items()}
        failures = self.known.failures.items()
        return {
            "study": self.name,
            "title": self.study.shows,
            "reference": self.study.reference,
            "command": command(),
            "settings": self.settings.to_mapping(),
            "environment": environment(device, 1),
            "tables": [table.to_mapping() for table in self.tables()],
            "runs": [where[key] for key in self.configs if key in self.known.results],
            "failed": [{"run": where[key], "problem": problem} for key, problem in failures],
        }


def import_results(folder: Path, configs: Mapping[str, RunConfig], runs: Path) -> int:
    """Write the results among a folder's files of JSON into the directories of their runs.

    What is no result of these runs is passed over, and a run that has a result keeps it. Whether a
    result fits its run and the data is checked when it is read there. Beside ``NAME.json``,
    ``NAME-metrics.jsonl`` has the metrics of the run, if they were kept too.

    Args:
        folder: with results by any names.
        configs: the runs by hash.
        runs: folder of all runs.

    Returns:
        How many were imported.
    """
    require("--results", str(folder), folder.is_dir(), "a folder with results, files of JSON")
    count = 0
    for path in sorted(folder.rglob("*.json")):
        try:
            stored = json.loads(path.read_bytes())
        except ValueError as error:
            raise RunError.at(
                path, f"is damaged ({error})", "restore it, or move it away"
            ) from error
        config = configs.get(str(stored.get("hash"))) if isinstance(stored, dict) else None
        if config is None:
            continue
        directory = RunDirectory(config.directory(runs))
        with directory.locked():
            if not (directory.path / RESULT).exists():
                directory.write_config(config)
                if (metrics := path.with_name(f"{path.stem}-{METRICS}")).exists():
                    directory.write(METRICS, metrics.read_bytes())
                directory.write_json(RESULT, stored)
                count += 1
    return count


class StudyDisplay:
    """Counts the runs that end and says how long the others will take.

    Args:
        name: the study's.
        total: runs to be executed.
        shown: whether to show anything.
    """

    def __init__(self, name: str, total: int, *, shown: bool = True) -> None:
        self._name, self._total, self._shown = name, total, shown
        self._done = 0
        self._began = time.monotonic()

    def ended(self, outcome: Outcome) -> None:
        """One more run has ended."""
        self._done += 1
        passed = time.monotonic() - self._began
        left = passed / self._done * (self._total - self._done)
        line = f"{self._name}: {self._done} of {self._total}, {described(outcome.config)}: "
        if outcome.result is None:
            line += f"failed: {outcome.problem}"
        else:
            average = selected(outcome.result)["average"]
            line += "done" if average is None else f"{average:.2f} %"
        if self._done < self._total:
            line += f"; about {duration(left)} left"
        if self._shown:
            print(line, file=sys.stderr, flush=True)


def described(config: RunConfig) -> str:
    """A run in a few words."""
    options = (f"{name}={value}" for name, value in changes(config).items())
    words = (config.method, *options, config.network, "+".join(config.source))
    return f"{' '.join(words)}, seed {config.seed}"
