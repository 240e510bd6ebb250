"""SIGTERM and Ctrl-C: what was begun is saved, whenever they come."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGINT)

Handler = Callable[[int, FrameType | None], None]


class StopRequestedError(Exception):
    """A run is to stop: raised in all of its processes, and saved where the loop catches it."""


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


def end_with_parent() -> None:
    """Let SIGTERM come to this process when its parent ends: one that was killed sends none."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def end() -> None:
        wait([sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end, daemon=True).start()


@contextmanager
def signals(handler: Handler) -> Iterator[None]:
    """Handle SIGTERM and SIGINT, also those that were blocked; only the main thread can."""
    with _handled(handler), _masked(unblock=True):
        yield


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Let SIGTERM and SIGINT wait until :func:`signals`, here and in processes started meanwhile.

    A process that is starting has no handler yet, and would die of them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    with _masked(unblock=False), _handled(_wait_here):
        yield


def _wait_here(number: int, frame: FrameType | None) -> None:
    """Move a signal to this thread, which blocks it: it came to one that does not."""
    signal.raise_signal(number)


@contextmanager
def _handled(handler: Handler) -> Iterator[None]:
    before = {}
    with suppress(ValueError):  # not the main thread
        for number in STOPPING:
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def _masked(*, unblock: bool) -> Iterator[None]:
    """Change which signals wait in this thread. Windows has no such thing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    how = signal.SIG_UNBLOCK if unblock else signal.SIG_BLOCK
    before = signal.pthread_sigmask(how, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
