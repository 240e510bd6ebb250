"""Where runs execute: one after the other, in a pool of processes, or on a Ray cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import ProRandConvError, require
from ...lazy import named
from ..errors import DivergedError, StoppedError
from ..options import OrDefault
from ..run.signals import StopRequest, signals

if TYPE_CHECKING:  # a list of studies must not wait for what trains
    from ..run.config import Execution, RunConfig
    from ..run.stored import Result

LAUNCHERS = {"serial": "Serial", "pool": "pool:Pool", "ray": "ray_cluster:OnRay"}
"""The class of each launcher, here or in a module beside."""
TRIES = 2
"""A run that fails is tried once more, from its last checkpoint."""


@dataclass(frozen=True)
class LaunchOptions:
    """Where runs execute."""

    launcher: str = "serial"
    """serial (one after the other), pool (several processes) or ray (a Ray cluster)"""
    workers: OrDefault[int] = None
    """pool: number of processes (default: one per GPU, or one for two cores and at least two)"""
    cpus: int = 1
    """ray: CPUs per run, which is its number of threads too"""
    gpus: float = 0.0
    """ray: GPUs per run, such as 0.5 for two runs on one GPU"""
    ray_address: OrDefault[str] = None
    """ray: an existing cluster, such as auto or HOST:6379 (default: a cluster on this machine)"""

    def __post_init__(self) -> None:
        known = f"one of {', '.join(LAUNCHERS)}"
        require("--launcher", self.launcher, self.launcher in LAUNCHERS, known)
        enough = self.workers is None or self.workers >= 1
        require("--workers", self.workers, enough, "an integer >= 1")
        require("--cpus", self.cpus, self.cpus >= 1, "an integer >= 1")
        require("--gpus", self.gpus, self.gpus >= 0, "a number >= 0")


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    config: RunConfig
    result: Result | None = None
    problem: str = ""
    """why there is no result"""
    diverged: bool = False
    """whether the loss was not finite, which it would be again"""
    stopped: bool = False
    """whether a signal has stopped the run, which is saved"""
    messages: tuple[str, ...] = ()
    """what happened to the run that people should know, such as a damaged checkpoint"""


def attempt(config: RunConfig, execution: Execution) -> Outcome:
    """Train, and return how it ended instead of raising."""
    from ..run.directory import notes
    from ..run.training import train

    try:
        outcome = Outcome(config, train(config, execution))
    except StoppedError as stopped:
        outcome = Outcome(config, problem=str(stopped), stopped=True)
    except DivergedError as error:
        outcome = Outcome(config, problem=error.problem or str(error), diverged=True)
    except Exception as error:  # whatever a method or network of a user's raises
        text = str(error) or type(error).__name__
        known = isinstance(error, ValueError | OSError)
        outcome = Outcome(config, problem=text if known else f"{type(error).__name__}: {text}")
    with suppress(ProRandConvError):  # a run that cannot be named has no directory either
        messages = notes(config.directory(execution.runs))
        outcome = replace(outcome, messages=tuple(messages))
    return outcome


class Launcher(ABC):
    """Executes runs. A run that fails is tried once more, and does not stop the others.

    A launcher starts jobs, and waits for them; the loop here is the same for all.
    """

    width: int
    """number of runs that execute at a time"""
    threads: int
    """of each run"""
    queue: int | None = None
    """number of runs that are submitted at a time; None: as many as execute"""

    @contextmanager
    def opened(self, execution: Execution) -> Iterator[None]:
        """What has to be there while runs execute; raises what each run would raise."""
        from ..run.environment import device_of

        device_of(execution.accelerator)
        yield

    @abstractmethod
    def submit(self, config: RunConfig, execution: Execution) -> Any:
        """Start a run, or resume it; returns its job, which is hashable."""

    @abstractmethod
    def wait(self, jobs: Sequence[Any]) -> Sequence[Any]:
        """Those jobs that have ended, after a second at most if none has."""

    @abstractmethod
    def outcome(self, job: Any, config: RunConfig, execution: Execution) -> Outcome:
        """How a job that has ended did end."""

    def stop(self, jobs: Sequence[Any]) -> Sequence[Any]:
        """Let jobs save their runs and end; returns those that have ended."""
        return ()

    def __call__(
        self,
        configs: Sequence[RunConfig],
        execution: Execution,
        on_done: Callable[[Outcome], None],
    ) -> None:
        """Execute runs, resuming those that were begun.

        Args:
            configs: distinct runs.
            execution: where and how.
            on_done: called in this process with the outcome of each run, once.

        Raises:
            StoppedError: Ctrl-C or SIGTERM came; all runs are saved.
        """
        waiting = deque((config, 1) for config in configs)
        jobs: dict[Any, tuple[RunConfig, int]] = {}
        stop = StopRequest()

        def ended(job: Any) -> None:
            config, tries = jobs.pop(job)
            outcome = self.outcome(job, config, execution)
            if outcome.result is None and stop:
                return
            if outcome.result is None and not outcome.diverged and tries < TRIES:
                waiting.append((config, tries + 1))
            else:
                on_done(outcome)

        with self.opened(execution), signals(stop):
            try:
                while (waiting or jobs) and not stop:
                    while waiting and not stop and len(jobs) < (self.queue or self.width):
                        config, tries = waiting.popleft()
                        jobs[self.submit(config, execution)] = (config, tries)
                    for job in self.wait(list(jobs)):
                        ended(job)
            finally:
                for job in self.stop(list(jobs)):
                    ended(job)
        if stop:
            raise StoppedError("stopped and saved; run the same command to resume")


class Serial(Launcher):
    """Each run has the whole machine, in this process, and shows its own progress."""

    width = 1

    def __init__(self, options: LaunchOptions) -> None:
        import torch

        self.threads = torch.get_num_threads()
        self._outcomes: dict[str, Outcome] = {}

    def submit(self, config: RunConfig, execution: Execution) -> str:
        """Execute the run."""
        outcome = attempt(config, execution)
        if outcome.stopped:
            raise StoppedError(outcome.problem)
        self._outcomes[config.hash] = outcome
        return config.hash

    def wait(self, jobs: Sequence[str]) -> Sequence[str]:
        """All, as each has ended when it was submitted."""
        return jobs

    def outcome(self, job: str, config: RunConfig, execution: Execution) -> Outcome:
        """The outcome of the run."""
        return self._outcomes.pop(job)


def get_launcher(options: LaunchOptions) -> Launcher:
    """The launcher that the options ask for."""
    name = LAUNCHERS[options.launcher]
    made: Launcher = (named(name, __name__) if ":" in name else Serial)(options)
    return made
