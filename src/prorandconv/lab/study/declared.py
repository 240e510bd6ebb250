"""What a study is, and how one is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...lazy import named
from .plan import Plan, TablePlan, limited
from .scenario import Scenarios
from .settings import Settings

if TYPE_CHECKING:
    from .table import Table


Tables = Iterable[TablePlan]


@dataclass(frozen=True)
class Study:
    """A part of the paper: its tables, from runs or from a measurement."""

    shows: str
    """what a reader learns from it"""
    reference: str
    """tables and figures of the paper"""
    tables: Callable[[Scenarios], Tables]
    """the tables that are read from runs"""
    on: tuple[str, ...] = ("digits",)
    """the paper's benchmarks, which one of the user's takes the place of"""
    networks: tuple[str | None, ...] = (None,)
    """the paper's networks; None is the benchmark's own"""
    measuring: str = ""
    """``module:function`` beside this file that measures what is read from no result"""

    def plan(self, settings: Settings) -> Plan:
        """The tables that settings ask for, and their runs."""
        if not self.on:
            return Plan((), settings.all_seeds)
        scenarios = Scenarios.of(settings, *self.on, networks=self.networks)
        tables = limited(tuple(self.tables(scenarios)), settings.rows)
        return Plan(tables, settings.all_seeds)

    def measure(self, settings: Settings, runs: Path, accelerator: str) -> tuple[Table, ...]:
        """Tables that are not read from results; none for most studies.

        Args:
            settings: the user's.
            runs: folder of all runs.
            accelerator: auto, cpu, cuda or mps.
        """
        if not self.measuring:
            return ()
        measured: tuple[Table, ...] = named(self.measuring, str(__package__))(
            settings, runs, accelerator
        )
        return measured

    @cached_property
    def runs(self) -> int:
        """Number of runs for one seed where all data is present."""
        return len(self.plan(Settings(everything=True, seeds=1)).runs)


STUDIES: dict[str, Study] = {}
"""By name, in the paper's order."""


def study(
    name: str, shows: str, reference: str, **options: Any
) -> Callable[[Callable[[Scenarios], Tables]], Callable[[Scenarios], Tables]]:
    """Declare a study by the function that gives its tables; ``options`` are those of `Study`."""

    def declared(tables: Callable[[Scenarios], Tables]) -> Callable[[Scenarios], Tables]:
        STUDIES[name] = Study(shows, reference, tables, **options)
        return tables

    return declared
