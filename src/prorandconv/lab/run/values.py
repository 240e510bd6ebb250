"""JSON values of dataclasses, and the identity of data, weights and code."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from typing_extensions import TypedDict

from ...errors import ProRandConvError
from ..errors import unknown_name
from ..files import digest
from ..methods import EARLIER_DEFAULT, Method, method_class

if TYPE_CHECKING:
    from pydantic import TypeAdapter
if TYPE_CHECKING:  # a config is read without waiting for what loads data
    from ..data import Benchmark


@cache
def _adapter(cls: Any) -> TypeAdapter[dict[str, Any]]:
    """Checks the fields of a dataclass, of which some may be missing."""
    from pydantic import TypeAdapter  # only here: --help must not wait for it

    hints = get_type_hints(cls, include_extras=True)
    kinds = {f.name: hints[f.name] for f in fields(cls) if f.name != "options"}
    return TypeAdapter(TypedDict(cls.__name__, kinds, total=False))  # type: ignore[operator]


def validated(cls: Any, values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """JSON values as what a dataclass's fields hold: lists become tuples, texts become paths.

    Args:
        cls: the dataclass, whose hints state what is right.
        values: some of its fields, as in JSON or of the field's own type.
        prefix: of names in messages.
    """
    from pydantic import ValidationError

    try:
        text = json.dumps(dict(values), default=_to_json)
        return _adapter(cls).validate_json(text, strict=True)
    except ValidationError as error:
        name = error.errors()[0]["loc"][0]
        problems = [
            problem["msg"].removeprefix("Input should be ")
            for problem in error.errors()
            if problem["loc"][0] == name
        ]
        raise ProRandConvError.about(
            f"{prefix}{name}", values[str(name)], "; or ".join(dict.fromkeys(problems))
        ) from error


def _to_json(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def plain(value: Any) -> dict[str, Any]:
    """A dataclass as names and JSON values."""
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
    """A short name for JSON values, whatever their order."""
    return digest(json.dumps(values, sort_keys=True))[:12]


def read_object(argument: str, path: Path) -> dict[str, Any]:
    """The names and values in a file of JSON."""
    try:
        stored = json.loads(path.read_text())
    except OSError as error:
        raise ProRandConvError.about(argument, str(path), "a file to read") from error
    except ValueError as error:
        raise ProRandConvError.about(argument, str(path), f"JSON ({error})") from error
    if not isinstance(stored, dict):
        raise ProRandConvError.about(argument, str(path), "a JSON object of names and values")
    return stored


def method_from(method: str, options: Mapping[str, Any]) -> Method:
    """A method from its name and JSON values of its options."""
    cls = method_class(method)
    check_known(options, [f.name for f in fields(cls)], f"unknown option of {method}")
    return cls(**validated(cls, options, "options."))


def check_known(
    given: Iterable[str], known: Sequence[str], argument: str = "unknown field"
) -> None:
    """Raise for a name that is not known, with the nearest one that is."""
    for name in given:
        if name not in known:
            raise unknown_name(argument, name, known)


@dataclass(frozen=True)
class DataIdentity:
    """The data of a run as far as it names the run, and all that its network needs of it."""

    domains: tuple[str, ...]
    classes: tuple[str, ...]
    image_size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    content: str | None = None
    """hash of all images of a user's own data"""

    @classmethod
    def of(cls, benchmark: Benchmark) -> DataIdentity:
        """The identity of a benchmark's data; of a user's own folder every image is read."""
        form = benchmark.format
        return cls(
            benchmark.domains,
            benchmark.classes,
            form.image_size,
            form.mean,
            form.std,
            benchmark.content(),
        )


def weights_content(path: Path) -> str:
    """A hash of a file of weights, which names the runs that begin with it."""
    if not path.is_file():
        raise ProRandConvError.about("weights", str(path), "a file that exists")
    return _content_hash(path, path.stat().st_mtime_ns)


@cache
def _content_hash(path: Path, changed: int) -> str:
    """Hashed once for all runs of a study; a file that was changed is hashed again."""
    return digest(path.read_bytes())


def code_content(*names: str) -> str | None:
    """A hash of the source of what the user has written; None if nothing is.

    It is that of the files which define it: neither of what they import, nor of a file that was
    changed after the import, whose code is not the one that runs.

    Args:
        names: of a method and a network; those with a colon are the user's, and are imported.
    """
    from ..models import importable

    found = [_source(importable("code", name), name) for name in names if ":" in name]
    return digest(*found)[:12] if found else None


@cache
def _source(thing: Any, name: str) -> str:
    """The source of a class with its bases, or of a function, and of the module that names it."""
    places = [getattr(sys.modules[name.partition(":")[0]], "__file__", None)]
    for one in getattr(thing, "__mro__", [thing]):
        module = getattr(one, "__module__", "").partition(".")[0]
        if module not in ("builtins", "torch", "abc", "prorandconv"):
            with suppress(TypeError, OSError):  # of an object without a file
                places.append(inspect.getfile(one))
    paths = {Path(place) for place in places if place and Path(place).is_file()}
    files = sorted(paths, key=lambda path: path.name)
    try:
        contents = [path.read_bytes() for path in files] or [inspect.getsource(thing).encode()]
    except (TypeError, OSError) as error:
        raise ProRandConvError.about(
            "code", name, "something in a file that can be read"
        ) from error
    return digest(*map(digest, contents))
