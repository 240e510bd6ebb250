"""The paper's figures, from the one file that holds them, with the table and row they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from .files import cache_folder, digest, write_text
from .methods import METHODS, method_class
from .run.config import RunConfig
from .run.stored import read_object
from .run.values import method_from, plain

ALL = "all"
"""Instead of names of rows: every row, and a row of every method."""
PREFERRED = ("Table 1", "Table 2", "Table 3")
"""Tables that other tables repeat rows of."""


LABELS = {
    "Baseline (ERM)": "ERM",
    "Baseline": "ERM",
    "progressive (weights different)": "Progressive (Diff)",
    "ours-move": "Ours-D, labels moved",
    "ours-shared": "Ours, shared offsets",
}
"""The label of a row that the paper or the lab calls otherwise."""
FAMILIES = {"progressive": "Progressive"}
"""What a method is called before its options, if not by its label."""


@cache
def paper_tables() -> tuple[dict[str, Any], ...]:
    """All tables, as in ``paper.json``."""
    stored = json.loads(files(__package__).joinpath("paper.json").read_text())
    return tuple(stored["tables"])


@dataclass(frozen=True)
class PaperRow:
    """What the paper reports for a run like this one."""

    table: str
    row: str
    targets: Mapping[str, float]
    """accuracy by target; empty where the paper has only the average"""
    average: float | None
    """over the targets, as the paper prints it"""

    def average_over(self, names: tuple[str, ...]) -> float | None:
        """The paper's average over these targets only, to compare like with like."""
        if not self.targets:
            return self.average
        if not names or any(name not in self.targets for name in names):
            return None
        return sum(self.targets[name] for name in names) / len(names)


@dataclass(frozen=True)
class Row:
    """A row of a table that can be trained here: a method, its options, the paper's figures."""

    name: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    """by the column's name in ``paper.json``"""


def rows_of(table: str, *, requested: bool = False, **setting: str) -> tuple[Row, ...]:
    """The rows of a table that can be trained here, named as in the paper.

    Args:
        table: such as ``"Table 3"``.
        requested: instead, the rows that a study has on request only: methods whose figures the
            paper quotes.
        setting: benchmark or network, where the table has several.

    Example:
        >>> [row.name for row in rows_of("Table 3", network="resnet50")]
        ['Baseline (ERM)', 'RandConv', 'Pro-RandConv']
    """
    return tuple(
        Row(row["row"].rstrip("*"), row["method"], row["options"], row["values"])
        for stored in paper_tables()
        if stored["table"] == table
        for row in stored["rows"]
        if "method" in row
        and row.get("requested", False) == requested
        and row["method"] in METHODS
        and all(row.get(name, stored.get(name)) == value for name, value in setting.items())
    )


def label(name: str) -> str:
    """What a row or a method is called wherever it is shown.

    Example:
        >>> label("Baseline (ERM)"), label("augmix"), label("pro-randconv (max_repeats 5)")
        ('ERM', 'AugMix', 'Pro-RandConv (max_repeats 5)')
    """
    method, bracket, options = name.partition(" (")
    if name in LABELS or method not in METHODS:
        return LABELS.get(name, name)
    return FAMILIES.get(method, label_of(method)) + bracket + options if options else label_of(name)


@cache
def label_of(method: str) -> str:
    """A method's name in the paper, or else that of its class."""
    for table in paper_tables():
        for row in table["rows"]:
            if row.get("method") == method and not row["options"]:
                name = str(row["row"]).rstrip("*")
                return LABELS.get(name, name)
    return LABELS.get(method, METHODS[method].rpartition(":")[2])


def paper_row(run: RunConfig | Mapping[str, Any]) -> PaperRow | None:
    """The paper's row for a run, if it has one; lengths and seeds are not compared.

    Args:
        run: its config, or the plain values of it, as in config.json.

    Example:
        >>> paper_row(RunConfig.paper("digits", method="erm")).targets["usps"]
        78.21
    """
    config = _plain(run)
    if config.get("jitter", 0.0) or config.get("average", "none") != "none":
        return None  # which the paper has not
    tables = sorted(paper_tables(), key=lambda table: table["table"] not in PREFERRED)
    for table in tables:
        if not _same_setting(table, config):
            continue
        for row in table["rows"]:
            if row.get("method") == config["method"] and row["options"] == changed_options(config):
                return _read(table, row, config)
    return None


def changed_options(run: RunConfig | Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from the method's defaults, as plain values.

    Of a method that is not the lab's own all options count: nothing is imported to learn its
    defaults.

    Args:
        run: its config, or the plain values of it, as in config.json.
    """
    config = _plain(run)
    if config["method"] not in METHODS:
        return dict(config["options"])
    data = config.get("data") or {}
    format = {name: data.get(name) for name in ("mean", "std")}
    question = json.dumps([config["method"], config["options"], format], sort_keys=True)
    path = cache_folder() / f"options-{_code()}.json"
    known = _known_changes(path)
    if question not in known:
        known[question] = _changed_options(config)
        with suppress(OSError):  # a cache that cannot be written costs the next command its time
            write_text(path, json.dumps(known))
    return dict(known[question])


def _changed_options(config: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = dict(config["options"])
    defaults = plain(method_class(config["method"])())
    if (data := config.get("data")) is not None:  # whose images decide what is left to them
        left = [name for name, value in defaults.items() if value == "auto"]
        given = {n: v for n, v in options.items() if n in defaults and n not in left}
        decided = method_from(config["method"], given).with_auto_resolved(data["mean"], data["std"])
        defaults |= {name: getattr(decided, name) for name in left}
    return {n: v for n, v in options.items() if n not in defaults or v != defaults[n]}


@cache
def _code() -> str:
    """The hash of the code that decides what is a default: of the methods and of the library."""
    home = Path(__file__).parent
    paths = sorted([*home.glob("methods/*.py"), *home.parent.glob("*.py")])
    return digest(*(path.read_bytes() for path in paths))[:16]


@cache
def _known_changes(path: Path) -> dict[str, dict[str, Any]]:
    """Answers of earlier commands: methods need torch, which takes seconds to load."""
    try:
        known: dict[str, dict[str, Any]] = read_object(path)
    except (OSError, ValueError):
        return {}
    return known


def changes(run: RunConfig | Mapping[str, Any]) -> dict[str, Any]:
    """What distinguishes a run from the method's default: options, and some fields of the run.

    Args:
        run: its config, or the JSON values of it, as in config.json.
    """
    config = _plain(run)
    defaults = {"image_size": None, "average": "none", "jitter": 0.0}
    own = {name: config.get(name, default) for name, default in defaults.items()}
    return changed_options(config) | {n: v for n, v in own.items() if v != defaults[n]}


def with_changes(name: str, changed: Mapping[str, Any]) -> str:
    """A method and what differs from its defaults, for people.

    Example:
        >>> with_changes("erm", {"image_size": 128, "layers": ["a", "b"]})
        'erm (image_size 128, layers a b)'
    """
    parts = ", ".join(f"{option} {text_of(value)}" for option, value in changed.items())
    return f"{name} ({parts})" if parts else name


def text_of(value: Any) -> str:
    """A JSON value for people."""
    return " ".join(map(text_of, value)) if isinstance(value, list | tuple) else str(value)


def _plain(run: RunConfig | Mapping[str, Any]) -> Mapping[str, Any]:
    return run.to_mapping() if isinstance(run, RunConfig) else run


def _same_setting(table: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    if table["columns"] not in ("target", "source"):
        return False
    if any(table.get(name) != config[name] for name in ("benchmark", "network")):
        return False
    if "source" in table:
        return bool(table["source"] == list(config["source"]))
    return bool(table.get("multi_source", False) == (len(config["source"]) > 1))


def _read(table: Mapping[str, Any], row: Mapping[str, Any], config: Mapping[str, Any]) -> PaperRow:
    values = row["values"]
    if table["columns"] == "source":
        return PaperRow(table["table"], row["row"], {}, values.get(config["source"][0]))
    targets = {name: value for name, value in values.items() if not name.startswith("average")}
    if table.get("multi_source"):
        targets = {name: value for name, value in targets.items() if name not in config["source"]}
        average = sum(targets.values()) / len(targets) if targets else None
        return PaperRow(table["table"], row["row"], targets, average)
    return PaperRow(table["table"], row["row"], targets, values.get("average"))
