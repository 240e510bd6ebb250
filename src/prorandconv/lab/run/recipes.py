"""What is joined to the paper's run beyond the paper: parts, and recipes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import ProRandConvError
from ..errors import unknown_name
from .config import RunConfig


@dataclass(frozen=True)
class Part:
    """What is added to a run: options of Pro-RandConv, and fields of the run."""

    options: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


PARTS = {
    "consistency": Part(options={"consistency": 5.0}),
    "jitter": Part(fields={"jitter": 0.25}),
    "EMA": Part(fields={"average": "ema"}),
    "SWAD": Part(fields={"average": "swad"}),
}
"""Never chosen by a target: jitter by shifted validation without zoom-and-shift, among 0.25, 0.5
and 1; the others from the literature, before any run."""

RECIPES: Mapping[str, tuple[str, ...]] = {
    "paper": (),
    "plus": ("consistency", "jitter"),
    "authors": (),
}
"""The parts of each recipe; those of plus were chosen by shifted validation (study beyond)."""


def with_parts(config: RunConfig, parts: Sequence[str]) -> RunConfig:
    """A run of Pro-RandConv with parts joined to it."""
    options = {k: v for part in parts for k, v in PARTS[part].options.items()}
    fields = {k: v for part in parts for k, v in PARTS[part].fields.items()}
    return replace(config, options=replace(config.options, **options), **fields)


def with_recipe(config: RunConfig, recipe: str) -> RunConfig:
    """A run by a recipe: ``paper`` is the run as it is, ``authors`` as the method's authors train.

    Args:
        config: the run; for ``plus``, of Pro-RandConv on images with one class.
        recipe: ``"paper"``, ``"plus"`` or ``"authors"``.

    Example:
        >>> own = with_recipe(RunConfig.paper("digits", epochs=150), "plus")
        >>> own.jitter, own.options.consistency
        (0.25, 5.0)
    """
    if recipe not in RECIPES:
        raise unknown_name("recipe", recipe, RECIPES)
    if recipe == "authors":
        return _as_authors(config)
    if not RECIPES[recipe]:
        return config
    if (config.method, config.task) != ("pro-randconv", "classification"):
        raise ProRandConvError.about(
            "recipe",
            f"{recipe} with {config.method} on {config.benchmark}",
            "the method pro-randconv and a benchmark of images with one class",
        )
    return with_parts(config, RECIPES[recipe])


def _as_authors(config: RunConfig) -> RunConfig:
    """Optimiser, batch, schedule and epochs of the method's authors on the same benchmark."""
    known = config.options.authors
    if config.benchmark not in known:
        on = f"on {' or '.join(known)}" if known else "of a method that has one"
        given = f"authors with {config.method} on {config.benchmark}"
        raise ProRandConvError.about("recipe", given, f"paper, or its authors' recipe {on}")
    changes = {k: v for k, v in known[config.benchmark].items() if k != "options"}
    changed = replace(config, data=None, **changes)
    # Another size of images is other data; the command line looks at it later.
    return changed if config.data is None else changed.with_changes()
