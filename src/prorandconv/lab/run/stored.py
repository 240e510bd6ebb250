"""result.json as it is read: one schema for whoever reads it, and which data it speaks of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import MinLen
from typing_extensions import NotRequired, TypedDict

from ..errors import RunError
from ..tasks import Evaluation, get_task

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Result = dict[str, Any]
"""The content of result.json."""

CHOICES = {"val": "best_validation", "val-shifted": "best_shifted", "last": "last"}
"""Selected weights: their name in result.json, by ``select`` of the run's config."""
SHOWN = 8
"""Signs of a fingerprint that people see."""


class StoredConfig(TypedDict):
    """What every reader needs of a config; it has more."""

    benchmark: str
    source: Annotated[list[str], MinLen(1)]
    method: str
    options: dict[str, Any]
    network: str
    epochs: int
    seed: int


class StoredTarget(TypedDict):
    """Counts of a target; its scores follow from them."""

    confusion: Annotated[list[list[int]], MinLen(1)]
    accuracy: NotRequired[float]
    miou: NotRequired[float]


class StoredFigures(TypedDict):
    """Figures of the weights of one epoch."""

    epoch: int
    targets: dict[str, StoredTarget]
    average: NotRequired[float | None]
    val_accuracy: NotRequired[float]
    val_miou: NotRequired[float]
    val_shifted: NotRequired[float]


class StoredResult(TypedDict):
    """A result; results of before there was a choice of weights name no selected ones."""

    config: StoredConfig
    hash: str
    data: dict[str, str]
    classes: list[str]
    averaged: list[str]
    absent: list[str]
    best_validation: StoredFigures
    last: StoredFigures
    best_shifted: NotRequired[StoredFigures]
    selected: NotRequired[str]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # only here: --help must not wait for it

    return TypeAdapter(kind)


def check(kind: Any, stored: object) -> None:
    """Raise a ValueError that names the first field of JSON values that a schema does not allow."""
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_python(stored, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the whole"
        raise ValueError(f"{field}: {first['msg']}") from error


def read_object(path: Path) -> dict[str, Any]:
    """The names and values in a file of JSON; a ValueError if it holds anything else."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(stored, dict):
        raise ValueError("not a JSON object")
    return stored


def check_result(result: object) -> None:
    """Raise a ValueError if a result lacks a field that readers need, or has it in a wrong type."""
    check(StoredResult, result)
    assert isinstance(result, dict)
    figures, metric = selected(result), evaluation_of(result["config"]).metric
    if validation_score(metric) not in figures:
        raise ValueError(f"{validation_score(metric)}: Field required")
    for name, target in figures["targets"].items():
        if metric not in target:
            raise ValueError(f"targets.{name}.{metric}: Field required")
        if any(len(row) != len(target["confusion"]) for row in target["confusion"]):
            raise ValueError(f"targets.{name}.confusion: not square")


def read_result(path: Path) -> Result:
    """A run's result; an error that names the file and the field if it is damaged."""
    try:
        stored = read_object(path)
        check_result(stored)
    except (OSError, ValueError, KeyError, RecursionError) as error:
        problem = f"is damaged ({error})"
        raise RunError.at(path, problem, "remove it and run the same command again") from error
    return stored


def selected(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of the selected weights."""
    figures: Mapping[str, Any] = result[result.get("selected", "best_validation")]
    return figures


def evaluation_of(config: Mapping[str, Any]) -> type[Evaluation]:
    """What a run's network is measured by; configs of before there were tasks name none."""
    return get_task(config.get("task", "classification")).evaluation


def validation_score(metric: str) -> str:
    """The name of the score on validation samples, in metrics and results."""
    return f"val_{metric}"


def target_key(name: str) -> str:
    """The name of a target's fingerprint in ``data``, where "train" and "val" are the source's."""
    return f"target {name}" if name in ("train", "val", "weights") else name


def fingerprints(result: Result) -> dict[str, str]:
    """Hashes of the data that a run was trained and measured on, by name.

    Example:
        >>> fingerprints({
        ...     "config": {"benchmark": "digits", "source": ["mnist"]},
        ...     "data": {"train": "1f0e", "svhn": "77aa"},
        ... })
        {'digits mnist train': '1f0e', 'digits svhn': '77aa'}
    """
    config = result["config"]
    source = "+".join(config["source"])

    def name(part: str) -> str:
        if part == "weights":
            return f"{config['network']} weights"
        of = f"{source} " if part in ("train", "val") else ""
        return f"{config['benchmark']} {of}{part}"

    return {name(part): fingerprint for part, fingerprint in result["data"].items()}


def described(data: Mapping[str, str]) -> str:
    """The data in a line, for people."""
    return ", ".join(f"{name} {fingerprint[:SHOWN]}" for name, fingerprint in data.items())


def conflicts(data: Iterable[Mapping[str, str]]) -> str:
    """What several results have used and was not the same, with its hashes; empty if all agree.

    Example:
        >>> conflicts([{"digits svhn": "77aa"}, {"digits svhn": "77ab", "digits usps": "0c0c"}])
        'digits svhn 77aa or 77ab'
    """
    seen: dict[str, dict[str, None]] = {}
    for one in data:
        for name, fingerprint in one.items():
            seen.setdefault(name, {})[fingerprint] = None
    return ", ".join(
        f"{name} {' or '.join(one[:SHOWN] for one in different)}"
        for name, different in seen.items()
        if len(different) > 1
    )
