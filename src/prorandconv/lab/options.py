"""Options of the command line whose default is no value, but described in their help text."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import tyro

T = TypeVar("T")


def _default(label: str) -> str:
    """The end of a help text: nothing where there is no value to show."""
    return f"(default: {label})" if label not in ("", "None") else ""


SHOWN_DEFAULT = tyro.conf.arg(help_behavior_hint=_default)
"""Of options that may be empty: shows their default only where there is one."""

OrDefault = Annotated[T | None, tyro.conf.DisallowNone, SHOWN_DEFAULT]
"""A value, or None, which is the default and cannot be given: ``--help`` mentions it nowhere."""

Range = tuple[float, float]
RangeOrNone = Annotated[Range | None, tyro.conf.arg(metavar="LOW HIGH|None")]
OffsetsRange = Annotated[
    Range | Literal["auto"] | None, tyro.conf.arg(metavar="LOW HIGH|auto|None")
]
WeightStd = Annotated[float | Range | None, tyro.conf.arg(metavar="FLOAT|LOW HIGH|None")]
"""Options of the methods for which None is a value, as ``--help`` shows them."""
