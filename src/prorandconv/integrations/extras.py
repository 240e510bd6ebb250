"""The error where the library that an adapter is made for is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def requires_extra(extra: str) -> Iterator[None]:
    """Import what an extra installs; where it is missing, the error names the command.

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
