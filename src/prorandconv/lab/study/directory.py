"""A study under way: its runs, what is known of them, and the file that stores it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

import torch

from ..errors import RunError
from ..files import write_text
from ..launch.outcome import Outcome
from ..run.config import RunConfig
from ..run.directory import RESULT, STATE, notes
from ..run.environment import command, environment
from ..run.finished import finished
from ..run.result import Result
from .fingerprints import conflicts, fingerprints
from .kept import put_back
from .paper import STUDIES, get_study
from .plan import check_figures, limited, runs_of
from .settings import Settings
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
        self.planned = limited(self.study.plan(settings), settings.rows)
        self.configs = runs_of(self.planned, settings.all_seeds)
        """all runs by hash"""
        self.put_back = 0 if kept is None else put_back(kept, self.configs, runs)
        """how many results were taken from those that were kept"""
        self.results: dict[str, Result] = {}
        self.failures: dict[str, str] = {}
        """why runs have no result that can be used"""
        self.measured: tuple[Table, ...] = ()
        self._data: dict[str, str] = {}
        known: dict[object, str] = {}
        for key, config in self.configs.items():
            try:
                done = finished(config, runs, known)
            except RunError as error:
                self.failures[key] = str(error)
                continue
            if done is not None:
                self._accept(key, done.result)

    def state(self, key: str) -> State:
        """How far a run is."""
        if key in self.results:
            return "done"
        if key in self.failures:
            return "failed"
        begun = (self.configs[key].directory(self.runs) / STATE).exists()
        return "begun" if begun else "to do"

    def missing(self) -> list[RunConfig]:
        """Runs that are not done."""
        return [config for key, config in self.configs.items() if key not in self.results]

    def take(self, outcome: Outcome) -> None:
        """Take in how a run ended."""
        if outcome.result is not None:
            self._accept(outcome.config.hash, outcome.result)
        else:
            self.failures[outcome.config.hash] = outcome.problem

    def _accept(self, key: str, result: Result) -> None:
        """Use a result, unless it is damaged or on other data than the results before it."""
        try:
            data = fingerprints(result)
            check_figures(result)
        except (KeyError, TypeError, ValueError, AttributeError):
            where = self.configs[key].directory(self.runs) / RESULT
            self.failures[key] = f"{where}: is damaged; remove it and run the same command again"
            return
        if different := conflicts([self._data, data]):
            self.failures[key] = f"not on the same data as the other runs: {different}"
            return
        self._data |= data
        self.results[key] = result
        self.failures.pop(key, None)

    def tables(self) -> tuple[Table, ...]:
        """The tables with what is known."""
        seeds = self.settings.all_seeds
        messages = {key: notes(c.directory(self.runs)) for key, c in self.configs.items()}
        known = (t.table(seeds, self.results, self.failures, messages) for t in self.planned)
        return (*known, *self.measured)

    def measure(self, accelerator: str) -> None:
        """Measure what is not read from results."""
        if self.study.measure is not None:
            self.measured = self.study.measure(self.settings, self.runs, accelerator)

    def write(self, device: torch.device) -> Path:
        """Write ``study.json``, whole or not at all."""
        path = self.path / STUDY
        write_text(path, json.dumps(self._content(device), indent=1) + "\n")
        return path

    def _content(self, device: torch.device) -> dict[str, Any]:
        folders = {
            key: os.path.relpath(config.directory(self.runs), self.path)
            for key, config in self.configs.items()
        }
        return {
            "study": self.name,
            "title": STUDIES[self.name].shows,
            "reference": STUDIES[self.name].reference,
            "command": command(),
            "settings": self.settings.to_mapping(),
            "environment": environment(device, 1),
            "tables": [table.to_mapping() for table in self.tables()],
            "runs": [folders[key] for key in self.configs if key in self.results],
            "failed": [{"run": folders[key], "problem": p} for key, p in self.failures.items()],
        }
