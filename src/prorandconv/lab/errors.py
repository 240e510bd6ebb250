"""What is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from typing_extensions import Self

from ..errors import ProRandConvError


class LabError(ProRandConvError):
    """A problem with a file or folder: the message names the path, the problem and a remedy."""

    problem: str | None = None
    """the second of the three, where there is a path"""

    @classmethod
    def at(cls, path: Path | str, problem: str, remedy: str) -> Self:
        """Compose the message from its three facts."""
        error = cls(f"{path}: {problem}; {remedy}")
        error.problem = problem
        return error


class DataError(LabError):
    """Data that cannot be used."""


class RunError(LabError):
    """A run that cannot continue."""


class StoppedError(RunError):
    """A run that was asked to stop: it is saved, and the same command resumes it."""


class DivergedError(RunError):
    """A run whose loss or weights are no longer finite: the same run would end there again."""


class ReportError(LabError):
    """Results that cannot be reported."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known name as the end of a sentence; empty if none is near.

    Example:
        >>> did_you_mean("randcov", ["erm", "randconv"])
        "; did you mean 'randconv'?"
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_name(
    argument: str, name: str, known: Iterable[str], *, also: str = ""
) -> ProRandConvError:
    """The error about a name that is not known."""
    names = list(known)
    return ProRandConvError.about(
        argument, name, f"one of {', '.join(names)}{also}{did_you_mean(name, names)}"
    )
