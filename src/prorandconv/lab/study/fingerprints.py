"""On which data results were made, and where they differ in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..run.result import Result

SHOWN = 8
"""Signs of a fingerprint that people see."""


def fingerprints(result: Result) -> dict[str, str]:
    """Hashes of what a run has learned from and was measured on, by name.

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
        own = f"{source} {part}" if part in ("train", "val") else part
        return f"{config['benchmark']} {own}"

    return {name(part): str(found) for part, found in dict(result.get("data", {})).items()}


def described(data: Mapping[str, str]) -> str:
    """The data in a line, for people."""
    return ", ".join(f"{name} {found[:SHOWN]}" for name, found in data.items())


def conflicts(data: Iterable[Mapping[str, str]]) -> str:
    """What several results have used and was not the same, with its hashes; empty if all agree.

    Example:
        >>> conflicts([{"digits svhn": "77aa"}, {"digits svhn": "77ab", "digits usps": "0c0c"}])
        'digits svhn 77aa or 77ab'
    """
    found: dict[str, dict[str, None]] = {}
    for one in data:
        for name, own in one.items():
            found.setdefault(name, {})[own] = None
    return ", ".join(
        f"{name} {' or '.join(one[:SHOWN] for one in own)}"
        for name, own in found.items()
        if len(own) > 1
    )
