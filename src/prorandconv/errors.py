"""The library's one exception, and how to raise it."""

from __future__ import annotations


class ProRandConvError(ValueError):
    """A wrong argument: the message names it, the value it got and what would be right."""

    @classmethod
    def about(cls, argument: str, got: object, expected: str) -> ProRandConvError:
        """Compose the message from its three facts."""
        return cls(f"{argument}: got {got!r}, expected {expected}")


def require(argument: str, got: object, right: bool, expected: str) -> None:
    """Refuse an argument whose value is not right."""
    if not right:
        raise ProRandConvError.about(argument, got, expected)
