"""Plain values, as in JSON, and which data and weights a run begins with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from ...errors import ProRandConvError
from ..errors import RunError, unknown_name
from ..methods import EARLIER_DEFAULT, Method, method_class

if TYPE_CHECKING:
    from pydantic import TypeAdapter
if TYPE_CHECKING:  # a config is read without waiting for what loads data
    from ..data import Benchmark


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
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refuse_other_data(
    run: Path, source: Sequence[str], stored: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Refuse to resume a run, or to return its result, where its data has changed.

    Args:
        run: the run's directory.
        source: domains that it is trained on.
        stored: fingerprints that the run has kept, by "train", "val" and target.
        present: fingerprints of what is there now; what is missing is not compared.
    """
    for name, own in stored.items():
        if present.get(name, own) != own:
            split = {"train": "training", "val": "validation"}.get(name, "test")
            domain = name if split == "test" else ", ".join(source)
            raise RunError.at(
                run,
                f"was made with other {split} images of {domain} than those that are there now",
                "restore them, or use another folder of runs (--runs)",
            )
