"""Progress of long work: a bar on a terminal, sparse lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

SECONDS_BETWEEN_LINES = 10.0

Advance = Callable[[int], None]


@contextmanager
def progress(
    description: str, total: int, *, unit: str = "", completed: int = 0
) -> Iterator[Advance]:
    """Show how far some work is and how long it still takes, on standard error.

    Args:
        description: what is being done.
        total: how many steps there are.
        unit: what a step is; ``"bytes"`` is shown as sizes.
        completed: steps done before, as in a resumed download.

    Yields:
        A function to be called with the number of steps just done.

    Example:
        >>> with progress("counting", 3) as advance:
        ...     for _ in range(3):
        ...         advance(1)
    """
    if sys.stderr.isatty():
        amount: ProgressColumn = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(description, total=total, completed=completed)
            yield lambda steps: bar.update(task, advance=steps)
        return
    yield _lines(description, total, unit, completed)


def _lines(description: str, total: int, unit: str, completed: int) -> Advance:
    began = last = time.monotonic()
    done, before = completed, completed

    def advance(steps: int) -> None:
        nonlocal done, last
        done += steps
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LINES or done <= before:
            return
        last = now
        left = (now - began) / (done - before) * max(total - done, 0)
        amount = f"{done:,} of {total:,} {unit}".rstrip()
        print(f"{description}: {amount}, about {left:.0f} s left", file=sys.stderr, flush=True)

    return advance
