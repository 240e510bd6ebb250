"""PACS: trained on one domain, measured on the three others (Table 2)."""

from __future__ import annotations

from ...paper import Row, rows_of
from ..plan import RULES, Column, PlannedTable, Reading, Study, shifted
from ..scenario import Scenario, Scenarios
from ..settings import Settings

TANH = Row("Pro-RandConv (tanh)", "pro-randconv", {"output": "tanh"})
"""What tanh gives, not mapped to the range that an ImageNet network knows; the paper is silent."""


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The methods by source, for each network; by source, the paper has ResNet-18 only.

    With shifted validation, the same runs under each rule of selection, and what the rules see.
    """
    scenarios = Scenarios.of(settings, "pacs", networks=("resnet18", "resnet50"))
    return tuple(table for scenario in scenarios.usable for table in _tables(scenario))


def _tables(scenario: Scenario) -> tuple[PlannedTable, ...]:
    rows = (*scenario.with_figures(rows_of("Table 1"), "Table 2"), TANH)
    name = f"{scenario.name}-single-{scenario.network}"
    where = f"trained on one domain of {scenario.name} with {scenario.network}"

    def by_source(suffix: str, rule: str, choice: str | None) -> PlannedTable:
        return PlannedTable.of(
            name + suffix,
            f"{where.capitalize()}{rule}; mean accuracy on the other domains, by source",
            "Table 2",
            rows,
            scenario.by_source(choice),
            averaged=True,
            notes=scenario.notes,
        )

    if not scenario.settings.shifted_validation:
        return (by_source("", "", None),)
    seen = PlannedTable.of(
        f"{name}-seen",
        f"What selection sees, {where}: best accuracy on validation images, plain and shifted, "
        "mean of the sources",
        "",
        rows,
        [
            Column("val", scenario.in_domain),
            Column("val_shifted", lambda row: tuple(map(_shifted, scenario.in_domain(row)))),
        ],
        notes=scenario.notes,
    )
    rules = (by_source(f"-{key}", f", {rule.words}", rule.choice) for key, rule in RULES.items())
    return (*rules, seen)


def _shifted(reading: Reading) -> Reading:
    return shifted(reading.config)


STUDY = Study(plan)
