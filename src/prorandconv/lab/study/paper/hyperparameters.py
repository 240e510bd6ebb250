"""Each hyper-parameter of Pro-RandConv by itself (the supplementary figure)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....transforms import EPS, offset_range
from ...paper import Row
from ..plan import PlannedCell, PlannedTable, Study
from ..scenario import Scenario, Scenarios
from ..settings import Settings
from ..table import Axis


@dataclass(frozen=True)
class Parameter:
    """A hyper-parameter, its values, and the options of the method that set it."""

    name: str
    sign: str
    values: tuple[float, ...]
    claim: str
    options: Callable[[float, Scenario], dict[str, Any]] | None = None
    """None: the option of this name has the value"""


def _offsets(b_delta: float, scenario: Scenario) -> dict[str, Any]:
    """The default is by image size: with that value, the run is the default one."""
    size = scenario.benchmark.image_size
    return {} if offset_range(size, size)[1] == b_delta else {"offsets": [EPS, b_delta]}


PARAMETERS = (
    Parameter("max_repeats", "L_max", (1, 2, 5, 10, 15, 20), "insensitive; 10 chosen for its cost"),
    Parameter("gamma_std", "σ_γ", (0.1, 0.25, 0.5, 0.75, 1.0), "0.5 is best"),
    Parameter("beta_std", "σ_β", (0.1, 0.25, 0.5, 0.75, 1.0), "0.5 is best"),
    Parameter(
        "smoothing",
        "b_g",
        (0.25, 0.5, 1.0, 2.0, 4.0),
        "1.0 is best",
        lambda value, _: {"smoothing": [EPS, value]},
    ),
    Parameter(
        "offsets",
        "b_Δ",
        (0.05, 0.1, 0.2, 0.5, 1.0, 2.0),
        "0.2 chosen for Digits, 0.5 for PACS",
        _offsets,
    ),
    Parameter(
        "alpha",
        "α",
        (2.0, 5.0, 10.0, 15.0, 20.0),
        "10 chosen: reasonably high values give natural deformations",
    ),
)


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """A table for each parameter, with a row for each benchmark."""
    scenarios = Scenarios.of(settings, "digits", "pacs")
    return tuple(_table(parameter, scenarios) for parameter in PARAMETERS)


def _table(parameter: Parameter, scenarios: Scenarios) -> PlannedTable:
    def options(value: float, scenario: Scenario) -> dict[str, Any]:
        own = parameter.options
        return {parameter.name: value} if own is None else own(value, scenario)

    cells = {
        (scenario.name, f"{value:g}"): PlannedCell(
            scenario.single(Row("", "pro-randconv", options(value, scenario)))
        )
        for scenario in scenarios.usable
        for value in parameter.values
    }
    claim = (
        f"the paper on {parameter.sign}: {parameter.claim}; its figure has no numbers, so that "
        "there is nothing beside ours, and the values of the axis are ours"
    )
    return PlannedTable(
        f"hyperparameters-{parameter.name.replace('_', '-')}",
        f"Pro-RandConv by {parameter.sign}: mean accuracy on unseen domains",
        "supplementary figure",
        tuple(scenario.name for scenario in scenarios.usable),
        tuple(f"{value:g}" for value in parameter.values),
        cells,
        axis=Axis(parameter.sign, parameter.values),
        notes=(claim, *scenarios.all_notes),
    )


STUDY = Study(plan)
