"""The draw file: one draw and the options it was made with, as JSON. ``docs/draws.md`` defines it.

Python and the playground (``play/drawfile.js``) read and write the same files. Files of version 1
stay readable: a change of the format is a new version, beside which this one is still read. Draws
for volumes, which the playground does not have, are version 2.
"""

from __future__ import annotations

import base64
import json
import math
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import checks
from .errors import ProRandConvError
from .fields import Field
from .options import BOUNDS, CONTRAST_PARTS, OUTPUTS, PADDINGS, Size

FORMAT = "prorandconv.draw"
VERSIONS = {2: 1, 3: 2}
"""Version of a file by the axes of what its draw is for: images, or volumes."""
DTYPES = {"float32": "<f4", "float64": "<f8"}
"""What numbers may be stored as: little-endian, row by row."""
NO_RANGE = {"bound": None, "output": "tanh", "mean": (0.5,), "std": (0.5,)}
"""Options that RandConv does not have, as the file holds them."""


def text_of(parts: Mapping[str, Any], transform: str) -> str:
    """The text of a draw file, from the arguments that make a transform's draw."""
    if parts["options"] is None:
        raise ProRandConvError.about("options", None, "those of the transform, as in its draw(x)")
    chosen = parts["chosen"]
    extra = NO_RANGE if transform == "RandConv" else {}
    dims = 3 if len(parts["size"] or ()) == 3 else 2
    file = {
        "format": FORMAT,
        "version": VERSIONS[dims],
        "transform": transform,
        "options": _options({**extra, **parts["options"]}),
        "size": checks.size("size", parts["size"], dims),
        "repeats": parts["repeats"],
        "layered": parts["layered"],
        "chosen": None if chosen is None else chosen.tolist(),
        "batch": parts["batch"],
        "weight": _stored(parts["weight"]),
        "gamma": _stored(parts["gamma"]),
        "beta": _stored(parts["beta"]),
        "mix": _stored(parts.get("mix")),
        "offsets": _stored_field(parts["offsets"]),
    }
    return json.dumps(file, separators=(",", ":"), allow_nan=False)


def parts_of(text: str, transform: str) -> dict[str, Any]:
    """The arguments that make a transform's draw anew, from the text of a draw file."""
    try:
        file = _entries("the file", json.loads(text))
    except (json.JSONDecodeError, RecursionError) as problem:
        raise ProRandConvError.about("the file", text[:20], f"JSON; {problem}") from None
    checks.one_of("format", file["format"], (FORMAT,))
    checks.one_of("version", file["version"], tuple(VERSIONS.values()))
    checks.one_of("transform", file["transform"], (transform,))
    dims = next(dims for dims, version in VERSIONS.items() if version == file["version"])
    options, size = _options(file["options"]), checks.size("size", file["size"], dims)
    repeats, batch = file["repeats"], file["batch"]
    if batch is not None and not isinstance(batch, int):
        raise ProRandConvError.about("batch", batch, "a number of images, or null")
    parts = {
        "options": options,
        "size": size,
        "repeats": tuple(repeats) if isinstance(repeats, list) else repeats,
        "layered": checks.one_of("layered", file["layered"], (True, False)),
        "chosen": _positions(file["chosen"]),
        "batch": batch,
        "weight": _tensor("weight", file["weight"]),
        "gamma": _optional("gamma", file["gamma"]),
        "beta": _optional("beta", file["beta"]),
        "offsets": _field(file["offsets"], size),
    }
    if transform == "RandConv":
        parts["options"] = {name: options[name] for name in options.keys() - NO_RANGE.keys()}
        parts["mix"] = _optional("mix", file["mix"])
    return parts


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a file as a whole or not at all."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> str:
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise ProRandConvError.about("the file", problem.reason, "JSON in UTF-8") from None


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in which file it is what is refused."""
    try:
        yield
    except ProRandConvError as problem:
        raise ProRandConvError(f"{os.fspath(path)}: {problem}") from None


class _Entries(dict[str, Any]):
    """What an object of the file holds; what is missing is refused by its name."""

    def __missing__(self, name: str) -> None:
        raise ProRandConvError.about(name, "nothing", "an entry of this name in the draw file")


def _entries(name: str, value: Any) -> _Entries:
    if not isinstance(value, dict):
        raise ProRandConvError.about(name, value, "an object with the entries of a draw file")
    return _Entries(value)


def _options(given: Any) -> dict[str, Any]:
    options = _entries("options", given)
    mean, std = checks.normalisation(options["mean"], options["std"])
    return {
        "contrast": checks.choice("contrast", options["contrast"], CONTRAST_PARTS),
        "eps": checks.number("eps", options["eps"], low=0),
        "padding": checks.one_of("padding", options["padding"], PADDINGS),
        "bound": checks.one_of("bound", options["bound"], (*BOUNDS, None)),
        "output": checks.one_of("output", options["output"], OUTPUTS),
        "mean": mean,
        "std": std,
    }


def _positions(given: Any) -> Tensor | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(position, int) for position in given):
        raise ProRandConvError.about("chosen", given, "a list of positions, or null")
    return torch.tensor(given, dtype=torch.int64)


def _stored(tensor: Tensor | None) -> dict[str, Any] | None:
    if tensor is None:
        return None
    dtype = "float64" if tensor.dtype == torch.float64 else "float32"
    numbers = tensor.detach().cpu().to(getattr(torch, dtype)).numpy().astype(DTYPES[dtype])
    data = base64.b64encode(numbers.tobytes()).decode("ascii")
    return {"dtype": dtype, "shape": list(tensor.shape), "data": data}


def _optional(name: str, given: Any) -> Tensor | None:
    return None if given is None else _tensor(name, given)


def _tensor(name: str, given: Any) -> Tensor:
    stored = _entries(name, given)
    dtype = checks.one_of(f"{name}, dtype", stored["dtype"], tuple(DTYPES))
    shape = stored["shape"]
    if not isinstance(shape, list) or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ProRandConvError.about(f"{name}, shape", shape, "a list of whole numbers >= 0")
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


def _stored_field(field: Field | Tensor | None) -> dict[str, Any] | None:
    if field is None:
        return None
    if not isinstance(field, Field):
        raise ProRandConvError.about("offsets", "a tensor", "None, or a Field as it was drawn")
    return {"kind": "waves", "side": max(field.size), "coefficients": _stored(field.coefficients)}


def _field(given: Any, size: Size) -> Field | None:
    if given is None:
        return None
    stored, side, dims = _entries("offsets", given), max(size), len(size)
    checks.one_of("offsets, kind", stored["kind"], ("waves",))
    checks.one_of("offsets, side", stored["side"], (side,))
    coefficients = _tensor("offsets, coefficients", stored["coefficients"])
    counts = coefficients.shape[-dims:]
    if coefficients.dim() < dims + 1 or not 1 <= min(counts) <= max(counts) <= side:
        modes = "R, R'" if dims == 2 else "R, R', R''"
        raise ProRandConvError.about(
            "offsets, coefficients",
            tuple(coefficients.shape),
            f"({'2k²' if dims == 2 else '3k³'}, {modes}) with "
            f"{modes.replace(', ', ' and ', 1)} from 1 to {side}",
        )
    return Field(coefficients, size)
