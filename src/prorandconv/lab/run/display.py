"""How a run shows itself: a bar on a terminal, a line an epoch elsewhere, TensorBoard if asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleDimensions
from rich.progress import BarColumn, Progress, TextColumn

from ..tasks import get_task
from .config import Execution, RunConfig
from .stored import validation_score

if TYPE_CHECKING:
    from .state import Progress as RunProgress

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
        done: epochs that were done before this process, and the share of the current one.
        shown: False shows nothing, as on all ranks but the first.
        tensorboard: folder for TensorBoard, or None.
    """

    def __init__(
        self,
        title: str,
        *,
        score: tuple[str, str] = ("val_accuracy", "accuracy"),
        epochs: int,
        done: float = 0.0,
        shown: bool = True,
        tensorboard: Path | None = None,
    ) -> None:
        self._title, self._epochs = title, epochs
        self._before = self._done = done
        self._shown = shown
        self._began = self._last_line = self._mark = time.monotonic()
        self._images: int | None = None
        self._rate = 0.0
        self.loss: float | None = None
        """of the last step whose loss was read"""
        self._score_name, self._score_title = score
        self._score: float | None = None
        self._bar: Progress | None = None
        if shown and sys.stderr.isatty():
            columns = (BarColumn(20), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=RoomForEcho(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=epochs)
            self._bar.update(self._task, completed=done)
        self._writer: Any = None
        if tensorboard is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(tensorboard), purge_step=int(done) + 1)

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

    def step(self, progress: RunProgress, steps: int) -> None:
        """One more step is done, of ``steps`` in the current epoch."""
        self._done = progress.epoch + progress.step / steps
        now = time.monotonic()
        if self._images is None:
            self._images = progress.images_seen
        if now - self._mark > SECONDS_BETWEEN_UPDATES:
            self._rate = (progress.images_seen - self._images) / (now - self._mark)
            self._mark, self._images = now, progress.images_seen
            if self._bar is not None:
                text = self._described(progress.epoch + 1)
                self._bar.update(self._task, completed=self._done, description=text)
        if self._bar is None and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._line(progress.epoch + 1)

    def _line(self, epoch: int) -> None:
        self._last_line = time.monotonic()
        self.say(f"{self._title}: {self._described(epoch)}")

    def _described(self, epoch: int) -> str:
        ran, missing = self._done - self._before, self._epochs - self._done
        left = (time.monotonic() - self._began) / max(ran, 1e-9) * missing
        loss = "" if self.loss is None else f", loss {self.loss:.3f}"
        title = f", validation {self._score_title} "
        score = "" if self._score is None else f"{title}{self._score:.1f} %"
        rate = f", {self._rate:.0f} images/s" if self._rate else ""
        return f"epoch {epoch}/{self._epochs}{loss}{score}{rate}, {duration(left)} left"

    def epoch(self, line: Mapping[str, Any]) -> None:
        """An epoch is done, with this line of metrics."""
        self._score, self.loss = line[self._score_name], line["train_loss"]
        self._done = float(line["epoch"])
        self._mark, self._images = time.monotonic(), 0  # measuring does not count as training
        if self._bar is None:
            self._line(line["epoch"])
        if self._writer is not None:
            for name in ("train_loss", self._score_name, "learning_rate"):
                self._writer.add_scalar(name, line[name], line["epoch"])
            for name, accuracy in line.get("targets", {}).items():
                self._writer.add_scalar(f"targets/{name}", accuracy, line["epoch"])
            self._writer.flush()


def run_display(config: RunConfig, execution: Execution, done: float, *, first: bool) -> RunDisplay:
    """What a process of a run shows."""
    evaluation = get_task(config.task).evaluation
    folder = config.directory(execution.runs) / "tensorboard"
    return RunDisplay(
        f"{config.benchmark} {config.method} {'+'.join(config.source)}",
        score=(validation_score(evaluation.metric), evaluation.title),
        epochs=config.epochs,
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
