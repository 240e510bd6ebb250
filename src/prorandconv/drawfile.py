"""The draw file: one draw and how it is applied, as JSON. ``docs/draws.md`` defines it.

Python and the playground (``play/drawfile.js``) read and write the same files. Files of version 1
stay readable: a change of the format is a new version, beside which this one is still read.
"""

from __future__ import annotations

import base64
import json
import math
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from . import checks
from .caching import outside_inference_mode
from .errors import ProRandConvError
from .fields import Field

if TYPE_CHECKING:
    from .draw import Draw, Options

FORMAT, VERSION = "prorandconv.draw", 1
TRANSFORMS = ("ProRandConv", "RandConv")
DTYPES = {"float32": "<f4", "float64": "<f8"}
"""What numbers may be stored as: little-endian, row by row."""
_TENSORS = ("weight", "gamma", "beta", "mix")
_MOST_DIGITS = 30
"""Of an integer: more take long to read, and Python refuses more than 4,300."""


def text_of(draw: Draw) -> str:
    """The text of a draw file."""
    offsets = draw.offsets
    if isinstance(offsets, Tensor):
        raise ProRandConvError.about("offsets", "a tensor", "None, or a Field as it was drawn")
    file = {
        "format": FORMAT,
        "version": VERSION,
        "transform": draw.transform,
        "options": asdict(draw.options),
        "size": checks.size("size", draw.size, draw.spatial_dims),
        "repeats": draw.repeats,
        "layered": draw.layered,
        "chosen": None if draw.selected is None else draw.selected.tolist(),
        "batch": draw.batch_size,
        **{name: _stored(getattr(draw, name)) for name in _TENSORS},
        "offsets": offsets
        and {
            "kind": "waves",
            "side": max(offsets.size),
            "coefficients": _stored(offsets.coefficients),
        },
    }
    return json.dumps(file, separators=(",", ":"), allow_nan=False)


def draw_of(text: str, kind: type[Draw], options_kind: type[Options]) -> Draw:
    """The draw in the text of a draw file, on the CPU, and its options, as these classes."""
    try:
        file = json.loads(text, object_pairs_hook=_Entries, parse_int=_integer)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise ProRandConvError.about("the file", text[:20], f"JSON; {problem}") from None
    if not isinstance(file, _Entries):
        raise ProRandConvError.about("the file", text[:20], "an object with the entries of a draw")
    checks.one_of("format", file["format"], (FORMAT,))
    checks.one_of("version", file["version"], (VERSION,))
    checks.one_of("transform", file["transform"], TRANSFORMS)
    options = _entries("options", file["options"])
    names = options_kind.__dataclass_fields__
    for name in options.keys() - names.keys():
        raise ProRandConvError.about("options", name, f"no other entries than {tuple(names)}")
    sides = file["size"]
    size = checks.size("size", sides, 3 if isinstance(sides, list) and len(sides) == 3 else 2)
    repeats = file["repeats"]
    several = len(repeats) if isinstance(repeats, list) else None
    selected, batch_size = _positions(file["chosen"]), file["batch"]
    checks.selection(selected, batch_size, several, ("chosen", "batch"))
    with outside_inference_mode():
        tensors: dict[str, Any] = {name: _tensor(name, file[name]) for name in _TENSORS}
        draw = kind(
            options=options_kind(**{name: options[name] for name in names}),
            transform=file["transform"],
            size=size,
            repeats=tuple(repeats) if several is not None else repeats,
            selected=selected,
            batch_size=batch_size,
            offsets=_field(file["offsets"], size),
            **tensors,
        )
    checks.one_of("layered", file["layered"], (draw.layered,))
    return draw


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a file as a whole or not at all; a link and the mode of a file stay what they are."""
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        part.write_text(text, encoding="utf-8")
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[str]:
    """The text of a file; an error in what is made of it names the file."""
    try:
        yield Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        message = ProRandConvError.about("the file", problem.reason, "JSON in UTF-8")
        raise ProRandConvError(f"{os.fspath(path)}: {message}") from None
    except ProRandConvError as problem:
        raise ProRandConvError(f"{os.fspath(path)}: {problem}") from None


class _Entries(dict[str, Any]):
    """An object of the file; what is missing, or there twice, raises an error with its name."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        if len(self) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ProRandConvError.about(twice, "two entries", "one of this name")

    def __missing__(self, name: str) -> None:
        raise ProRandConvError.about(name, "nothing", "an entry of this name in the draw file")


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        got = f"an integer of {len(digits)} digits"
        raise ProRandConvError.about("the file", got, f"at most {_MOST_DIGITS}")
    return int(digits)


def _entries(name: str, value: Any) -> _Entries:
    if not isinstance(value, _Entries):
        raise ProRandConvError.about(name, value, "an object with the entries of a draw file")
    return value


def _positions(given: Any) -> Tensor | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(type(n) is int and 0 <= n < 2**31 for n in given):
        raise ProRandConvError.about("chosen", given, "a list of positions, or null")
    return torch.tensor(given, dtype=torch.int64, device="cpu")


def _stored(tensor: Tensor | None) -> dict[str, Any] | None:
    if tensor is None:
        return None
    dtype = "float64" if tensor.dtype == torch.float64 else "float32"
    numbers = tensor.detach().cpu().to(getattr(torch, dtype)).numpy().astype(DTYPES[dtype])
    data = base64.b64encode(numbers.tobytes()).decode("ascii")
    return {"dtype": dtype, "shape": list(tensor.shape), "data": data}


def _tensor(name: str, given: Any) -> Tensor | None:
    if given is None:
        return None
    stored = _entries(name, given)
    dtype = checks.one_of(f"{name}, dtype", stored["dtype"], tuple(DTYPES))
    shape = stored["shape"]
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
        raise ProRandConvError.about(f"{name}, shape", shape, "a list of integers >= 0")
    try:
        data = base64.b64decode(stored["data"], validate=True)
    except (TypeError, ValueError) as problem:
        raise ProRandConvError.about(f"{name}, data", str(problem), "base64") from None
    numbers = np.dtype(DTYPES[dtype])
    if len(data) != math.prod(shape) * numbers.itemsize:
        expected = f"{math.prod(shape)} numbers of {dtype} for the shape {shape}"
        raise ProRandConvError.about(f"{name}, data", f"{len(data)} bytes", expected)
    array = np.frombuffer(data, numbers).astype(numbers.newbyteorder("="))
    if not np.isfinite(array).all():
        raise ProRandConvError.about(f"{name}, data", "inf or nan", "finite numbers")
    return torch.from_numpy(array).view(shape)


def _field(given: Any, size: tuple[int, ...]) -> Field | None:
    if given is None:
        return None
    stored, side, dims = _entries("offsets", given), max(size), len(size)
    checks.one_of("offsets, kind", stored["kind"], ("waves",))
    checks.one_of("offsets, side", stored["side"], (side,))
    coefficients = _tensor("offsets, coefficients", stored["coefficients"])
    shape = () if coefficients is None else tuple(coefficients.shape)
    if (
        coefficients is None
        or len(shape) <= dims
        or not all(1 <= modes <= side for modes in shape[-dims:])
    ):
        expected = "(2k², R, R)" if dims == 2 else "(3k³, R, R, R)"
        raise ProRandConvError.about(
            "offsets, coefficients", shape or None, f"{expected} with R from 1 to {side}"
        )
    return Field(coefficients, size)
