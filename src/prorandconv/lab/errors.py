"""What is wrong with data, where, and what to do."""

from __future__ import annotations

from pathlib import Path

from ..errors import ProRandConvError


class DataError(ProRandConvError):
    """Data that cannot be used: the message names the path, the problem and a remedy."""

    @classmethod
    def at(cls, path: Path | str, problem: str, remedy: str) -> DataError:
        """Compose the message from its three facts."""
        return cls(f"{path}: {problem}; {remedy}")
