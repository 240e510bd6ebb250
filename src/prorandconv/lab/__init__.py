"""Data, training, studies and reports around the augmentation; its doors for Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; a running program loads a name on first use
    from .run.config import RunConfig
    from .run.execution import Execution
    from .run.trained import load_trained
    from .run.training import train

__all__ = ["Execution", "RunConfig", "load_trained", "train"]

_HOMES = {
    "Execution": "run.execution",
    "RunConfig": "run.config",
    "load_trained": "run.trained",
    "train": "run.training",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use: torch takes seconds, which ``--help`` must not wait for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
