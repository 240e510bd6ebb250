"""Processes that make copies, each on one thread: who makes a picture does not change it."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..errors import ProRandConvError
from ..lab.data.inspection import FEW
from ..lab.errors import DataError, RunError
from ..lab.run.signals import end_with_parent
from .copies import copies_of, store
from .settings import Settings
from .tree import Picture

AHEAD = 4
"""So many pictures wait for each process."""


@dataclass(frozen=True)
class Made:
    """What became of one picture: entries for the manifest, or a problem."""

    name: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""


def all_made(
    pictures: Sequence[Picture], settings: Settings, target: Path, workers: int
) -> Iterator[Made]:
    """Make and store the copies of all pictures, in their order.

    Args:
        pictures: which to copy.
        settings: how.
        target: folder to write to.
        workers: how many processes; few pictures are copied in this one.
    """
    if workers < 2 or len(pictures) <= FEW:
        with one_thread():
            for picture in pictures:
                yield make(picture, settings, target)
        return
    # A forked process could not use threads that were there before.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(pictures)), context, _begin)
    waiting: deque[Future[Made]] = deque()
    try:
        for picture in pictures:
            waiting.append(pool.submit(make, picture, settings, target))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise RunError(
            "a worker process was killed, perhaps for want of memory; run the same command to "
            "resume, with fewer --workers or a smaller --size"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def make(picture: Picture, settings: Settings, target: Path) -> Made:
    """Make and store the copies of one picture."""
    entries = []
    try:
        for copy in copies_of(picture, settings):
            store(target, copy.files)
            entries.append(copy.entry)
    except DataError as error:
        return Made(picture.name, problem=str(error))
    except ProRandConvError as error:  # of an option that does not fit this picture
        return Made(picture.name, problem=f"{picture.path}: {error}")
    return Made(picture.name, entries)


def _begin() -> None:
    """What each process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent ends them
    torch.set_num_threads(1)
    end_with_parent()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: several may add numbers up in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
