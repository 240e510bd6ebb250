"""The library's one exception."""

from __future__ import annotations


class ProRandConvError(ValueError):
    """A wrong argument: the message names it, the value it got and what would be right."""

    @classmethod
    def about(cls, argument: str, got: object, expected: str) -> ProRandConvError:
        """Compose the message from its three facts."""
        return cls(f"{argument}: got {got!r}, expected {expected}")
