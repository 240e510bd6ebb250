"""How a run shows itself: a bar on a terminal, a line an epoch elsewhere, TensorBoard if asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console, ConsoleDimensions
from rich.progress import BarColumn, Progress, TextColumn

from ..tasks import get_task
from .config import Execution, RunConfig
from .stored import validation_score

SECONDS_BETWEEN_LINES = 60.0
"""Within an epoch, where there is no bar."""
SECONDS_BETWEEN_UPDATES = 0.5


class RoomForEcho(Console):
    """A console a little narrower than the terminal.

    Terminals show Ctrl-C as ``^C``; at the end of a full line that would begin another one, and
    the bar could not be erased any more.
    """

    @property  # type: ignore[misc]
    def size(self) -> ConsoleDimensions:
        """Width and height without the room."""
        width, height = super().size
        return ConsoleDimensions(max(width - 4, 1), height)


class RunDisplay:
    """Shows epoch, loss, score, images per second and time left, on standard error.

    Args:
        title: what is being trained.
        score: what networks are measured by: its name in the metrics, and for people.
        epochs: of the whole run.
        steps: of an epoch.
        done: steps that were done before this process.
        shown: False shows nothing, as on all ranks but the first.
        tensorboard: folder for TensorBoard, or None.
    """

    def __init__(
        self,
        title: str,
        *,
        score: tuple[str, str] = ("val_accuracy", "accuracy"),
        epochs: int,
        steps: int,
        done: int = 0,
        shown: bool = True,
        tensorboard: Path | None = None,
    ) -> None:
        self._title, self._epochs, self._steps = title, epochs, steps
        self._before = self._done = done
        self._shown = shown
        self._began = self._last_line = self._mark = time.monotonic()
        self._images = 0
        self._rate = 0.0
        self._score_name, self._score_title = score
        self._score: float | None = None
        self._bar: Progress | None = None
        if shown and sys.stderr.isatty():
            columns = (BarColumn(20), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=RoomForEcho(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=epochs * steps, completed=done)
        self._writer: Any = None
        if tensorboard is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(tensorboard), purge_step=done // max(steps, 1) + 1)

    def __enter__(self) -> RunDisplay:
        if self._bar is not None:
            self._bar.start()
            self.say(self._title)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._writer is not None:
            self._writer.close()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)
        elif self._shown:
            print(text, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Print a line that has to be seen, even if nothing else is shown."""
        if self._shown:
            self.say(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def step(self, epoch: int, loss: float, images: int) -> None:
        """One more step is done."""
        self._done += 1
        self._images += images
        now = time.monotonic()
        if now - self._mark > SECONDS_BETWEEN_UPDATES:
            self._rate = self._images / (now - self._mark)
            self._mark, self._images = now, 0
            if self._bar is not None:
                text = self._described(epoch, loss)
                self._bar.update(self._task, completed=self._done, description=text)
        if self._bar is None and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._line(epoch, loss)

    def _line(self, epoch: int, loss: float) -> None:
        self._last_line = time.monotonic()
        self.say(f"{self._title}: {self._described(epoch, loss)}")

    def _described(self, epoch: int, loss: float) -> str:
        ran, total = self._done - self._before, self._epochs * self._steps
        left = (time.monotonic() - self._began) / max(ran, 1) * (total - self._done)
        title = f", validation {self._score_title} "
        score = "" if self._score is None else f"{title}{self._score:.1f} %"
        rate = f", {self._rate:.0f} images/s" if self._rate else ""
        return f"epoch {epoch}/{self._epochs}, loss {loss:.3f}{score}{rate}, {duration(left)} left"

    def epoch(self, line: Mapping[str, Any]) -> None:
        """An epoch is done, with this line of metrics."""
        self._score = line[self._score_name]
        self._mark, self._images = time.monotonic(), 0  # measuring does not count as training
        if self._bar is None:
            self._line(line["epoch"], line["train_loss"])
        if self._writer is not None:
            for name in ("train_loss", self._score_name, "learning_rate"):
                self._writer.add_scalar(name, line[name], line["epoch"])
            for name, accuracy in line.get("targets", {}).items():
                self._writer.add_scalar(f"targets/{name}", accuracy, line["epoch"])
            self._writer.flush()


def run_display(
    config: RunConfig, execution: Execution, steps: int, done: int, first: bool
) -> RunDisplay:
    """What a process of a run shows.

    Args:
        config: the run.
        execution: whether anything is shown, and where.
        steps: of an epoch.
        done: steps that were done before.
        first: whether this is the process that shows something.
    """
    evaluation = get_task(config.task).evaluation
    folder = config.directory(execution.runs) / "tensorboard"
    return RunDisplay(
        f"{config.benchmark} {config.method} {'+'.join(config.source)}",
        score=(validation_score(evaluation.metric), evaluation.title),
        epochs=config.epochs,
        steps=steps,
        done=done,
        shown=first and not execution.quiet,
        tensorboard=folder if execution.tensorboard and first else None,
    )


def duration(seconds: float) -> str:
    """A time for people: 45 s, 3 min, 2 h 05 min.

    Example:
        >>> duration(45), duration(200), duration(7500)
        ('45 s', '3 min', '2 h 05 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
