"""By which rule weights are selected: figures of the same runs under each."""

from __future__ import annotations

from dataclasses import dataclass

from ..run.config import RunConfig
from .plan import Reading


@dataclass(frozen=True)
class Rule:
    """A rule of selection that needs no target."""

    choice: str
    """the weights' name in result.json"""
    words: str


RULES = {
    "validation": Rule("best_validation", "weights by validation, as in the paper"),
    "shifted": Rule("best_shifted", "weights by shifted validation"),
    "last": Rule("last", "weights of the last epoch"),
}


def shifted(config: RunConfig) -> Reading:
    """The best accuracy of a run on its shifted validation images."""
    return Reading(config, choice="best_shifted", shifted=True)
