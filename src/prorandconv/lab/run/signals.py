"""SIGTERM and Ctrl-C: what was begun is saved, whenever they come."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGINT)

Handler = Callable[[int, FrameType | None], None]


class StopRequest:
    """A handler of signals that is true once SIGTERM or Ctrl-C has come.

    What was begun is then finished and saved; a second Ctrl-C does not wait for that.
    """

    def __init__(self) -> None:
        self._came: list[int] = []

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take note of a signal."""
        if number == signal.SIGINT and number in self._came:
            raise KeyboardInterrupt
        self._came.append(number)

    def __bool__(self) -> bool:
        return bool(self._came)


@contextmanager
def signals(handler: Handler) -> Iterator[None]:
    """Handle SIGTERM and SIGINT, also those that were held back; only the main thread can."""
    before = {}
    mask = None
    with suppress(ValueError):
        for number in STOPPING:
            before[number] = signal.signal(number, handler)
        mask = _mask(unblock=True)
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def held_back() -> Iterator[None]:
    """Let SIGTERM and SIGINT wait until :func:`signals`, here and in processes started meanwhile.

    A process that is starting has no handler yet, and would die of them.
    """
    mask = _mask(unblock=False)
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _mask(*, unblock: bool) -> set[signal.Signals] | None:
    """Change which signals wait; returns what was before. Windows has no such thing."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    how = signal.SIG_UNBLOCK if unblock else signal.SIG_BLOCK
    return signal.pthread_sigmask(how, STOPPING)  # type: ignore[return-value]
