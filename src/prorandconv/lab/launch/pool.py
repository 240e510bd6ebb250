"""Several processes on this machine, each with its share of threads and GPUs."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from ..run.config import Execution, RunConfig
from ..run.signals import end_with_parent
from . import Launcher, LaunchOptions, Outcome, attempt

SPAWN = multiprocessing.get_context("spawn")
"""A forked process could not use CUDA, nor threads that were there before."""


@dataclass(frozen=True, eq=False)
class Job:
    """A run in a process."""

    slot: int
    process: Any
    pipe: Connection


class Pool(Launcher):
    """A process for each run, ``width`` at a time; a run whose process dies is tried again, too."""

    def __init__(self, options: LaunchOptions) -> None:
        self._gpus = visible_gpus()
        cores = torch.get_num_threads()
        self.width = options.workers or len(self._gpus) or max(cores // 2, 2)
        self.threads = max(cores // self.width, 1)
        self._free = list(range(self.width))

    def submit(self, config: RunConfig, execution: Execution) -> Job:
        """Start a process with a run."""
        slot, (pipe, theirs) = self._free.pop(0), SPAWN.Pipe()
        arguments = (theirs, config, execution, self.threads, self._gpus_of(slot))
        process = SPAWN.Process(target=work, args=arguments)
        process.start()
        theirs.close()
        return Job(slot, process, pipe)

    def wait(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Jobs that have sent their outcome, or died."""
        ready = wait([job.pipe for job in jobs], timeout=1.0)
        return [job for job in jobs if job.pipe in ready]

    def outcome(self, job: Job, config: RunConfig, execution: Execution) -> Outcome:
        """What the process has sent; waits for its end."""
        outcome: Outcome | None = None
        with suppress(EOFError, ConnectionError), job.pipe:
            outcome = job.pipe.recv()
        job.process.join()
        self._free.append(job.slot)
        return outcome or Outcome(config, problem=f"its process ended: {job.process.exitcode}")

    def stop(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Let each process save its run."""
        for job in jobs:
            job.process.terminate()
        return jobs

    def _gpus_of(self, slot: int) -> str | None:
        """GPUs are assigned round-robin; with more processes than GPUs, some share one."""
        if not self._gpus:
            return None
        return ",".join(self._gpus[slot % len(self._gpus) :: self.width])


def visible_gpus() -> list[str]:
    """Names of the GPUs that CUDA may use here."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [name for name in given.split(",") if name.strip()]
    return [str(number) for number in range(torch.cuda.device_count())]


def work(
    pipe: Connection, config: RunConfig, execution: Execution, threads: int, gpus: str | None
) -> None:
    """What each process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent passes it on
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus
    torch.set_num_threads(threads)
    end_with_parent()  # which saves the run
    with suppress(ConnectionError):
        pipe.send(attempt(config, execution))
