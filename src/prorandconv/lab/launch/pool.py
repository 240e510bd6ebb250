"""Several processes on this machine, each with its share of threads and GPUs."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

import torch

from ..errors import StoppedError
from ..run.config import Execution, RunConfig
from ..run.environment import device_of
from ..run.signals import StopRequest, end_with_parent, signals
from . import LaunchOptions
from .outcome import Outcome, attempt

SPAWN = multiprocessing.get_context("spawn")
"""A forked process could not use CUDA, nor threads that were there before."""


class Worker:
    """A process that executes one run at a time, and the run it is at.

    Args:
        threads: of the process.
        gpus: that it sees; None leaves them as they are.
    """

    def __init__(self, threads: int, gpus: str | None) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=work, args=(theirs, threads, gpus))
        self.process.start()
        theirs.close()
        self.task: Task | None = None

    def begin(self, task: Task, execution: Execution) -> None:
        """Execute a run."""
        self.task = task
        with suppress(ConnectionError):  # a process that has died says so when it is read
            self.pipe.send((task.config, execution))

    def outcome(self) -> Outcome:
        """How the run ended, once the pipe has something to read."""
        assert self.task is not None
        config, self.task = self.task.config, None
        try:
            outcome: Outcome = self.pipe.recv()
            return outcome
        except (EOFError, ConnectionError):
            self.process.join()
            return Outcome(config, problem=f"its process ended: {self.process.exitcode}")

    def end(self) -> None:
        """Let the process end; it has no run any more."""
        self.pipe.close()
        self.process.join()


@dataclass(frozen=True)
class Task:
    """A run to execute, for the first time or again."""

    config: RunConfig
    tries: int = 1


class Pool:
    """As many processes as asked for; a run whose process dies is tried again, too."""

    def __init__(self, options: LaunchOptions) -> None:
        self._gpus = visible_gpus()
        cores = torch.get_num_threads()
        self.width = options.workers or len(self._gpus) or max(cores // 2, 2)
        self.threads = max(cores // self.width, 1)

    def __call__(
        self,
        configs: Sequence[RunConfig],
        execution: Execution,
        on_done: Callable[[Outcome], None],
    ) -> None:
        """Execute the runs, each by the next process that is free."""
        device_of(execution.accelerator)  # else every run would say so
        waiting = deque(Task(config) for config in configs)
        workers: dict[int, Worker] = {}
        stop = StopRequest()

        def ended(worker: Worker) -> None:
            task = worker.task
            assert task is not None
            outcome = worker.outcome()
            if stop and outcome.result is None:
                return
            if outcome.worth_retrying(task.tries):
                waiting.append(Task(task.config, task.tries + 1))
            else:
                on_done(outcome)

        with signals(stop):
            try:
                while not stop and (waiting or any(w.task for w in workers.values())):
                    for slot in range(self.width):
                        if not waiting or stop:
                            break
                        worker = workers.get(slot)
                        if worker is not None and worker.task is not None:
                            continue
                        if worker is None or not worker.process.is_alive():
                            worker = workers[slot] = Worker(self.threads, self._gpus_of(slot))
                        worker.begin(waiting.popleft(), execution)
                    busy = {w.pipe: w for w in workers.values() if w.task is not None}
                    for pipe in wait(list(busy), timeout=1.0):
                        ended(busy[pipe])  # type: ignore[index]
                for worker in workers.values():
                    worker.process.terminate()  # which saves the run it is at
                for worker in workers.values():
                    if worker.task is not None:
                        ended(worker)
            finally:
                for worker in workers.values():
                    worker.end()
        if stop:
            raise StoppedError("stopped and saved; run the same command to resume")

    def _gpus_of(self, slot: int) -> str | None:
        """GPUs are dealt out in turns; with more processes than GPUs, some share one."""
        if not self._gpus:
            return None
        own = self._gpus[slot % len(self._gpus) :: self.width]
        return ",".join(own)


def visible_gpus() -> list[str]:
    """Names of the GPUs that CUDA may use here."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [name for name in given.split(",") if name.strip()]
    return [str(number) for number in range(torch.cuda.device_count())]


def work(pipe: Connection, threads: int, gpus: str | None) -> None:
    """What each process does: runs, until its parent has no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent passes it on
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus
    torch.set_num_threads(threads)
    end_with_parent()  # which saves the run it is at
    while True:
        try:
            pipe.send(attempt(*pipe.recv()))
        except (EOFError, ConnectionError):
            return
