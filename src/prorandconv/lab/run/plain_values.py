"""Plain values, as in JSON: of a dataclass, and checked and made into what its fields hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from ...errors import ProRandConvError
from ..errors import unknown_name
from ..methods import EARLIER_DEFAULT, Method, method_class

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # only here: --help must not wait for it

    return TypeAdapter(kind)


def plain(value: Any) -> dict[str, Any]:
    """A dataclass as names and plain values."""
    made: dict[str, Any] = json.loads(json.dumps(asdict(value), default=str))
    return made


def changed(value: Any) -> dict[str, Any]:
    """Those of its fields that differ from their defaults, or from what these were once."""
    names = [
        f.name
        for f in fields(value)
        if getattr(value, f.name) != f.metadata.get(EARLIER_DEFAULT, f.default)
    ]
    made = plain(value)
    return {name: made[name] for name in names}


def short_hash(values: Mapping[str, Any]) -> str:
    """A short name for plain values, whatever their order."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def read_object(argument: str, path: Path) -> dict[str, Any]:
    """The names and values in a file of JSON.

    Args:
        argument: what the file is, for the message.
        path: the file.
    """
    try:
        stored = json.loads(path.read_text())
    except OSError as error:
        raise ProRandConvError.about(argument, str(path), "a file to read") from error
    except ValueError as error:
        raise ProRandConvError.about(argument, str(path), f"JSON ({error})") from error
    if not isinstance(stored, dict):
        raise ProRandConvError.about(argument, str(path), "a JSON object of names and values")
    return stored


def typed(name: str, value: Any, kind: Any) -> Any:
    """A plain value as what a field holds: lists become tuples, texts become paths.

    Args:
        name: of the field, for the message.
        value: as in JSON, or of the field's own type.
        kind: the field's type.
    """
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_json(json.dumps(value, default=str), strict=True)
    except ValidationError as error:
        expected = "; or ".join(dict.fromkeys(problem["msg"] for problem in error.errors()))
        raise ProRandConvError.about(name, value, expected) from error


def method_from(method: str, options: Mapping[str, Any]) -> Method:
    """A method from its name and plain values of its options."""
    cls = method_class(method)
    hints = get_type_hints(cls)
    refuse_unknown(options, [f.name for f in fields(cls)], f"unknown option of {method}")
    return cls(**{k: typed(f"options.{k}", v, hints[k]) for k, v in options.items()})


def refuse_unknown(
    given: Iterable[str], known: Sequence[str], argument: str = "unknown field"
) -> None:
    """Refuse names that are not known, with the nearest one that is."""
    for name in given:
        if name not in known:
            raise unknown_name(argument, name, known)
