"""Public names of a package, loaded on first use: torch takes seconds, ``--help`` must not wait."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def named(place: str, package: str) -> Any:
    """What ``module:attribute`` names within a package."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(f".{module}", package), attribute)


def on_first_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``.

    Args:
        package: its name.
        homes: the module of each name, inside the package; a module is its own home.
    """

    def load(name: str) -> Any:
        if name in homes.values():
            return import_module(f".{name}", package)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = named(f"{homes[name]}:{name}", package)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted({*vars(sys.modules[package]), *homes})
