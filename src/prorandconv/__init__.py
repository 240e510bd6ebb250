"""Progressive Random Convolutions: an augmentation for models that must survive new domains."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .errors import ProRandConvError as ProRandConvError

if _TYPE_CHECKING:
    from . import functional as functional
    from .draw import Draw as Draw
    from .draw import Options as Options
    from .fields import gaussian_random_field as gaussian_random_field
    from .ops import engines as engines
    from .selection import select as select
    from .stress import Robustness as Robustness
    from .stress import stress as stress
    from .transforms import ProRandConv as ProRandConv
    from .transforms import RandConv as RandConv

__version__ = "0.1.0"

_HOMES = {
    "Draw": "draw",
    "Options": "draw",
    "ProRandConv": "transforms",
    "RandConv": "transforms",
    "Robustness": "stress",
    "engines": "ops",
    "functional": "functional",
    "gaussian_random_field": "fields",
    "select": "selection",
    "stress": "stress",
}
"""The module of each public name, loaded on first use: torch takes seconds, ``--help`` none."""
__all__ = ["ProRandConvError", "__version__", *_HOMES]


def __getattr__(name: str) -> _Any:
    if name not in _HOMES and name not in _HOMES.values():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _import_module(f".{_HOMES.get(name, name)}", __name__)
    globals()[name] = found = home if name in _HOMES.values() else getattr(home, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
