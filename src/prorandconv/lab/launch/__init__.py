"""Where runs execute: here, in a pool of processes, or on a Ray cluster; one launcher a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...errors import require
from ...lazy import named
from ..options import OrDefault

if TYPE_CHECKING:  # a list of studies must not wait for what trains
    from ..run.config import Execution, RunConfig
    from .outcome import Outcome

LAUNCHERS = {"serial": "serial:Serial", "pool": "pool:Pool", "ray": "ray_cluster:OnRay"}
"""Where each launcher is: a module beside this one, and the class in it."""


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
        require("--workers", self.workers, enough, "a whole number from 1")
        require("--cpus", self.cpus, self.cpus >= 1, "a whole number from 1")
        require("--gpus", self.gpus, self.gpus >= 0, "a number from 0")


class Launcher(Protocol):
    """Executes runs. A run that fails is reported and does not stop the others."""

    @property
    def width(self) -> int:
        """How many runs execute at a time."""

    @property
    def threads(self) -> int:
        """Threads of each run."""

    def __call__(
        self,
        configs: Sequence[RunConfig],
        execution: Execution,
        on_done: Callable[[Outcome], None],
    ) -> None:
        """Execute the runs, resuming those that were begun.

        Args:
            configs: distinct runs.
            execution: where and how.
            on_done: called in this process with the outcome of each run, once.

        Raises:
            StoppedError: Ctrl-C or SIGTERM came; all runs are saved.
        """


def get_launcher(options: LaunchOptions) -> Launcher:
    """The launcher that the options ask for."""
    made: Launcher = named(LAUNCHERS[options.launcher], __name__)(options)
    return made
