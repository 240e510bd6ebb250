"""How results were made: command, versions, seeds and hardware."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from ..run.display import duration
from ..study.fingerprints import described
from .read import StudyRecord


def provenance(study: StudyRecord) -> list[tuple[str, str]]:
    """Names and values, for people; where runs differ, each value is shown."""
    environments = [run.environment for run in study.runs if run.environment]
    environments = environments or [dict(study.environment or {})]
    done = sum(run.result is not None for run in study.runs)
    seeds = {seed for table in study.tables if table.unit == "%" for seed in table.seeds}
    commands = [study.command] if study.command else _commands(environments)
    found = [("command", command) for command in commands]
    found.append(("settings", _plain(study.settings or {})))
    found.append(("seeds", _plain(sorted(seeds))))
    found += [(name, value) for name, value in _joined(environments) if name != "command"]
    found += [("data", line) for line in dict.fromkeys(described(run.data) for run in study.runs)]
    found.append(("figures", study.figures))
    if study.runs:
        found.append(("runs", f"{done} done of {len(study.runs)}"))
        timed = [run.seconds for run in study.runs if run.seconds]
        whose = "all runs" if len(timed) == len(study.runs) else f"the {len(timed)} runs with times"
        found.append((f"time of {whose}", duration(sum(timed))))
    return [(name, value) for name, value in found if value]


def _commands(environments: Iterable[Mapping[str, Any]]) -> list[str]:
    found = [environment.get("command") for environment in environments]
    joined = (shlex.join(map(str, words)) for words in found if isinstance(words, list))
    return list(dict.fromkeys(joined))


def _joined(environments: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each entry with all the values that it has."""
    values: dict[str, dict[str, None]] = {}
    for environment in environments:
        for name, value in environment.items():
            values.setdefault(name, {})[_plain(value)] = None
    return [(name, "; or ".join(found)) for name, found in values.items()]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        there = {name: _plain(one) for name, one in value.items()}
        return ", ".join(f"{name} {one}" for name, one in there.items() if one)
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return "" if value is None else str(value)
