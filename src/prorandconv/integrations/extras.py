"""What to say where the library that an adapter is made for is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def brought_by(extra: str) -> Iterator[None]:
    """Import what an extra brings; where it is missing, say how to install it.

    Args:
        extra: name of the extra in ``pyproject.toml``.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name} is missing; install it: pip install 'prorandconv[{extra}]'",
            name=error.name,
        ) from error
