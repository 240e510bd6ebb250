"""Digits: trained on MNIST, measured on the other kinds of digits (Tables 1 and 11)."""

from __future__ import annotations

from dataclasses import replace

from ...paper import rows_of
from ..plan import PlannedTable, Study
from ..scenario import Scenario, Scenarios
from ..settings import Settings

SETS = ("mnist_m", "mnist_m_b")


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The five methods by target, and on both sets of MNIST-M where the benchmark has them."""
    scenario = Scenarios.of(settings, "digits").usable[0]
    table = PlannedTable.of(
        scenario.name,
        f"Trained on {scenario.sources[0]}; accuracy on unseen domains",
        "Table 1",
        scenario.with_figures(rows_of("Table 1"), "Table 1"),
        scenario.by_target(),
        averaged=True,
        notes=scenario.notes,
    )
    has_sets = all(name in scenario.benchmark.members for name in SETS)
    return (table, _mnist_m(scenario)) if has_sets else (table,)


def _mnist_m(scenario: Scenario) -> PlannedTable:
    there = SETS if scenario.settings.everything else scenario.benchmark.present()
    set_a = scenario.with_figures(rows_of("Table 1"), "Table 1")
    set_b = scenario.with_figures(rows_of("Table 1"), "Table 11")
    return PlannedTable.of(
        "mnist-m",
        "The two sets of MNIST-M: A (mnist_m, 9,001 images) and B (mnist_m_b, 10,000)",
        "Table 11",
        [replace(a, values={**b.values, **a.values}) for a, b in zip(set_a, set_b, strict=True)],
        scenario.by_target(name for name in SETS if name in there),
        notes=[
            "the paper's figures: set A from Table 1; set B from Table 11, RandConv as published",
            *(f"absent and left out: {name}" for name in SETS if name not in there),
        ],
    )


STUDY = Study(plan)
