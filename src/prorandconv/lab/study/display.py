"""How a study shows itself: a line on standard error for each run that ends."""

from __future__ import annotations

import sys
import time

from ..launch.outcome import Outcome
from ..paper import changed_options
from ..run.config import RunConfig
from ..run.display import duration
from ..run.result import selected
from ..run.values import changed


class StudyDisplay:
    """Counts the runs that end and says how long the others will take.

    Args:
        name: the study's.
        total: runs to be executed.
        shown: whether to show anything.
    """

    def __init__(self, name: str, total: int, *, shown: bool = True) -> None:
        self._name, self._total, self._shown = name, total, shown
        self._done = 0
        self._began = time.monotonic()

    def ended(self, outcome: Outcome) -> None:
        """One more run has ended."""
        self._done += 1
        passed = time.monotonic() - self._began
        left = passed / self._done * (self._total - self._done)
        line = f"{self._name}: {self._done} of {self._total}, {described(outcome.config)}: "
        if outcome.result is None:
            line += f"failed: {outcome.problem}"
        else:
            average = selected(outcome.result)["average"]
            line += "done" if average is None else f"{average:.2f} %"
        if self._done < self._total:
            line += f"; about {duration(left)} left"
        if self._shown:
            print(line, file=sys.stderr, flush=True)


def described(config: RunConfig) -> str:
    """A run in a few words."""
    options = (f"{name}={value}" for name, value in changed_options(config).items())
    own = changed(config)
    beyond = (f"{name}={own[name]}" for name in ("image_size", "jitter", "average") if name in own)
    words = (config.method, *options, *beyond, config.network, "+".join(config.source))
    return f"{' '.join(words)}, seed {config.seed}"
