"""The processes of one run: how they are started, and what they agree on."""

from __future__ import annotations

import multiprocessing
import os
import re
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import FrameType
from typing import Any, TypeVar

import torch
import torch.distributed
from torch import Tensor, nn
from torch.multiprocessing.spawn import (
    ProcessExitedException,
    ProcessRaisedException,
    start_processes,
)

from ..errors import RunError
from ..fabric import DDPStrategy, Fabric, LightningEnvironment
from .config import Execution, RunConfig
from .environment import device_of
from .signals import held_back, signals

T = TypeVar("T")


class Ranks:
    """What processes have to agree on; with one process, everything is as it is here.

    Args:
        device: what this process computes on.
        own: the number of this process, from 0.
        count: how many processes there are.
    """

    def __init__(self, device: torch.device, own: int = 0, count: int = 1) -> None:
        self.device, self.own, self.count = device, own, count
        self.first = own == 0
        """whether this process is the one that measures and writes"""

    @classmethod
    def of(cls, fabric: Fabric) -> Ranks:
        """The processes that a fabric connects."""
        return cls(fabric.device, fabric.global_rank, fabric.world_size)

    def summed(self, values: Sequence[float]) -> list[float]:
        """The sums of some numbers over all processes."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(total)
        found: list[float] = total.tolist()
        return found

    def first_says(self, question: Callable[[], T]) -> T:
        """The answer of the first process; the others wait for it."""
        answer = [question() if self.first else None]
        if self.count > 1:
            torch.distributed.broadcast_object_list(answer, device=self.device)
        return answer[0]  # type: ignore[return-value]

    def all_say(self, own: T) -> list[T]:
        """The values of all processes, by rank."""
        everyone: list[Any] = [own]
        if self.count > 1:
            everyone = [None] * self.count
            torch.distributed.all_gather_object(everyone, own)
        return everyone

    def gather(self, tensor: Tensor) -> Tensor:
        """The tensors of all processes, of one shape, joined along the first dimension."""
        if self.count == 1:
            return tensor
        parts = [torch.empty_like(tensor) for _ in range(self.count)]
        torch.distributed.all_gather(parts, tensor.contiguous())
        return torch.cat(parts)

    def mean_gradients(
        self, parameters: Sequence[Tensor], gradients: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        """Gradients averaged over all processes; None where no process has one."""
        if self.count == 1:
            return list(gradients)
        pairs = list(zip(parameters, gradients, strict=True))
        present = torch.tensor([float(one is not None) for one in gradients], device=self.device)
        parts = [(torch.zeros_like(p) if g is None else g).reshape(-1) for p, g in pairs]
        flat = torch.cat([*parts, present])
        torch.distributed.all_reduce(flat)
        *sums, counts = torch.split(flat, [*(len(part) for part in parts), len(present)])
        return [
            (total / self.count).view_as(parameter) if count else None
            for parameter, total, count in zip(parameters, sums, counts.tolist(), strict=True)
        ]

    def share_buffers(self, module: nn.Module) -> None:
        """Give all processes the first one's buffers, such as statistics of batch normalisation."""
        if self.count == 1:
            return
        kinds: dict[torch.dtype, list[Tensor]] = {}
        for buffer in module.buffers():
            kinds.setdefault(buffer.dtype, []).append(buffer)
        for buffers in kinds.values():
            flat = torch.cat([buffer.reshape(-1) for buffer in buffers])
            torch.distributed.broadcast(flat, 0)
            parts = torch.split(flat, [buffer.numel() for buffer in buffers])
            for buffer, part in zip(buffers, parts, strict=True):
                buffer.copy_(part.view_as(buffer))


JOINING = timedelta(minutes=30)
"""So long processes wait for each other."""
MEETING_POINTS = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "MASTER_ADDR")
"""Variables one of which says how machines find each other."""
SECONDS_TO_END = 30
"""What is left of the processes after one of them has failed is then killed."""

Work = Callable[[Fabric, RunConfig, Execution], Any]


def in_processes(work: Work, config: RunConfig, execution: Execution) -> Any:
    """Do a run's work in as many processes as it asks for; returns what it returns on the first.

    Args:
        work: called in each process; a function that can be imported.
        config: the run.
        execution: where and how.

    Raises:
        RunError: a process has failed, or they have not found each other.
    """
    device_of(execution.accelerator)
    by_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
    if by_torchrun and int(os.environ["WORLD_SIZE"]) != config.processes:
        raise RunError.about(
            "devices",
            f"{config.devices} on {config.nodes} node(s)",
            f"the {os.environ['WORLD_SIZE']} processes that torchrun has started",
        )
    if config.processes == 1:
        return work(_fabric(config, execution), config, execution)
    if config.nodes == 1 and not by_torchrun:
        return _spawned(work, config, execution)
    if not any(name in os.environ for name in MEETING_POINTS):
        raise RunError.about(
            "nodes",
            config.nodes,
            "1, or a start by torchrun or SLURM, or MASTER_ADDR and NODE_RANK in the environment: "
            "else machines cannot find each other",
        )
    return _together(work, config, execution)


def _together(work: Work, config: RunConfig, execution: Execution, **options: Any) -> Any:
    """Do the work in this process of several; then leave the others.

    Threads of a group that nobody has left can abort the process at its end.
    """
    answer = work(_joined(config, execution, **options), config, execution)
    torch.distributed.destroy_process_group()
    return answer


def _fabric(config: RunConfig, execution: Execution, **options: Any) -> Fabric:
    return Fabric(
        accelerator=execution.accelerator,
        devices=config.devices,
        num_nodes=config.nodes,
        **options,
    )


def _joined(config: RunConfig, execution: Execution, **options: Any) -> Fabric:
    """The fabric of processes that have found each other."""
    fabric = _fabric(config, execution, strategy=DDPStrategy(timeout=JOINING), **options)
    try:
        fabric.launch()
    except torch.distributed.DistError as error:
        minutes = JOINING.total_seconds() / 60
        raise RunError.about(
            "nodes",
            f"{config.nodes} with {config.devices} process(es) each",
            f"all of them to join within {minutes:g} minutes ({str(error).splitlines()[0]})",
        ) from error
    return fabric


def _spawned(work: Work, config: RunConfig, execution: Execution) -> Any:
    """Start the processes on this machine, pass signals on to them, and wait."""
    # Made before signals are held back: it starts a helper of Python's, which lets them through.
    answers = multiprocessing.get_context("spawn").SimpleQueue()
    arguments = (work, free_port(), config, execution, answers)
    with held_back():
        children = start_processes(  # type: ignore[no-untyped-call]
            _process, arguments, nprocs=config.devices, join=False, start_method="spawn"
        )

        def pass_on(number: int, frame: FrameType | None) -> None:
            for process in children.processes:
                process.terminate()

        with signals(pass_on):
            answer = problem = None
            try:
                while not children.join(timeout=1.0, grace_period=SECONDS_TO_END):
                    # A long answer fills the pipe: its process ends only when it is read.
                    answer = answer if answers.empty() else answers.get()
            except ProcessRaisedException as error:
                last = str(error).strip().splitlines()[-1]
                problem = RunError(re.sub(r"^prorandconv[\w.]*: ", "", last))
            except ProcessExitedException as error:
                how = error.signal_name or error.exit_code
                problem = RunError(
                    f"process {error.error_index} of the run has ended ({how}); "
                    "the same command resumes the run"
                )
    answer = answer if answers.empty() else answers.get()
    if answer is None and problem is not None:
        raise problem
    return answer


def _process(
    rank: int, work: Work, port: int, config: RunConfig, execution: Execution, answers: Any
) -> None:
    """What each process does."""
    own = {"LOCAL_RANK": rank, "NODE_RANK": 0, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in own.items()})
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(torch.get_num_threads() // config.devices, 1))
    answer = _together(work, config, execution, plugins=[LightningEnvironment()])
    if rank == 0:
        answers.put(answer)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
