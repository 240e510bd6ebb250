"""One run after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ..errors import StoppedError
from ..run.config import Execution, RunConfig
from ..run.environment import device_of
from . import LaunchOptions
from .outcome import TRIES, Outcome, attempt


class Serial:
    """Each run has the whole machine; a run shows its own progress."""

    def __init__(self, options: LaunchOptions) -> None:
        self.width = 1
        self.threads = torch.get_num_threads()

    def __call__(
        self,
        configs: Sequence[RunConfig],
        execution: Execution,
        on_done: Callable[[Outcome], None],
    ) -> None:
        """Execute the runs in order."""
        device_of(execution.accelerator)  # else every run would say so
        for config in configs:
            for tries in range(1, TRIES + 1):
                outcome = attempt(config, execution)
                if outcome.stopped:
                    raise StoppedError(outcome.problem)
                if not outcome.worth_retrying(tries):
                    break
            on_done(outcome)
