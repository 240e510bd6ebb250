"""What can be joined to Pro-RandConv, by itself and together, under two rules of selection."""

from __future__ import annotations

from dataclasses import replace

from ...paper import Row
from ...run.config import RunConfig
from ...run.recipes import PARTS, with_parts
from ..plan import RULES, Column, PlannedTable, Reading, Study, shifted
from ..scenario import Scenario, Scenarios
from ..settings import Settings

BASELINE = "Pro-RandConv"


ALL = ("consistency", "jitter", "EMA")

ROWS: dict[str, tuple[str, ...]] = {
    BASELINE: (),
    **{f"+ {name}": (name,) for name in PARTS},
    "+ all (with EMA)": ALL,
    **{f"all but {name}": tuple(one for one in ALL if one != name) for name in ALL},
}
"""What each row adds."""


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The targets by rule of selection, and what each rule saw; all from the same runs."""
    scenario = Scenarios.of(settings, "digits").usable[0]
    where = f"trained on {scenario.sources[0]} of {scenario.name}"
    bare = [Row(name, "pro-randconv") for name in ROWS]
    rows = scenario.with_figures(bare[:1], "Table 1") + tuple(bare[1:])
    by_rule = [
        PlannedTable.of(
            f"beyond-{name}",
            f"Beyond the paper, {where}: {rule.words}",
            "Table 1",
            rows,
            [
                _column(scenario, target, rule.choice)
                for target in scenario.targets(scenario.sources[0])
            ],
            baseline=BASELINE,
            averaged=True,
            notes=scenario.notes,
        )
        for name, rule in RULES.items()
    ]
    seen = PlannedTable.of(
        "beyond-seen",
        f"What selection sees, {where}: best accuracy on validation images, plain and shifted",
        "",
        rows,
        [
            Column("val", lambda row: (Reading(_config(scenario, row)),)),
            Column("val_shifted", lambda row: (shifted(_config(scenario, row)),)),
        ],
        baseline=BASELINE,
        notes=(
            "jitter trains with the family zoom-and-shift: its val_shifted is not comparable",
            *scenario.notes,
        ),
    )
    return (*by_rule, seen)


def _config(scenario: Scenario, row: Row) -> RunConfig:
    """The run of a row; all figures of both rules are in its result."""
    own = with_parts(scenario.config(row, scenario.sources[0]), ROWS[row.name])
    return replace(own, shifted_validation=True)


def _column(scenario: Scenario, target: str, choice: str) -> Column:
    def readings(row: Row) -> tuple[Reading, ...]:
        return (Reading(_config(scenario, row), (target,), choice),)

    return Column(target, readings, target)


STUDY = Study(plan)
