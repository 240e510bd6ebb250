"""The processes of one run: how they start, and what they agree on."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed
from torch import Tensor, nn
from torch.multiprocessing.spawn import (
    ProcessExitedException,
    ProcessRaisedException,
    start_processes,
)

from ...errors import ProRandConvError
from ..errors import DivergedError, RunError, StoppedError
from .config import Execution, RunConfig
from .environment import device_of
from .signals import signals, signals_blocked

T = TypeVar("T")

AGREED = "agreed"
"""The attribute of an error that all processes raise alike."""
JOINING = timedelta(minutes=30)
"""The longest time that processes wait for each other."""
SECONDS_TO_END = 30
"""The time that processes have to end after one of them has failed; then they are killed."""


class Ranks:
    """What processes have to agree on; with one process, each method does what it says for it."""

    def __init__(self, device: torch.device, own: int = 0, count: int = 1) -> None:
        self.device, self.own, self.count = device, own, count
        self.first = own == 0
        """whether this process is the one that measures and writes"""
        # Decisions go over the CPU: they must not wait for a GPU.
        gpu = count > 1 and device.type == "cuda"
        self._group: Any = torch.distributed.new_group(backend="gloo") if gpu else None

    def on_first(self, function: Callable[[], T]) -> T:
        """Its result on the first process, or its error, in every process alike."""
        if self.count == 1:
            return function()
        result = error = None
        if self.first:
            try:
                result = function()
            except Exception as raised:  # whatever it is, the others must not wait for ever
                error = raised
        shared = [result, _portable(error)]
        torch.distributed.broadcast_object_list(shared, group=self._group)
        agreed: Any = error or shared[1]
        if agreed is not None:
            setattr(agreed, AGREED, True)
            raise agreed
        return shared[0]  # type: ignore[return-value]

    def any(self, *flags: bool) -> list[bool]:
        """Of each flag, whether it is set in any process."""
        return [total > 0 for total in self.summed(flags)]

    def summed(self, values: Sequence[float]) -> list[float]:
        """The sum of each number over all processes."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        torch.distributed.all_reduce(total, group=self._group)
        sums: list[float] = total.tolist()
        return sums

    def all_gather(self, value: T) -> list[T]:
        """The values of all processes, by rank."""
        values: list[Any] = [value]
        if self.count > 1:
            values = [None] * self.count
            torch.distributed.all_gather_object(values, value, group=self._group)
        return values

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


def _portable(error: Exception | None) -> Exception | None:
    """The error as other processes can receive it."""
    with suppress(Exception):
        pickle.loads(pickle.dumps(error))
        return error
    return RunError(f"{type(error).__name__}: {error}")


class Started(NamedTuple):
    """This process among those that another program has started."""

    by: str
    rank: int
    local: int
    """its number on this machine"""
    processes: int


def started() -> Started | None:
    """This process among those that torchrun or srun has started; None if neither has."""
    variables = os.environ

    def numbers(*names: str) -> list[int]:
        return [int(variables[name]) for name in names]

    if "TORCHELASTIC_RUN_ID" in variables:
        return Started("torchrun", *numbers("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    if int(variables.get("SLURM_STEP_NUM_TASKS", 1)) > 1:
        return Started("srun", *numbers("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"))
    return None


def is_first() -> bool:
    """Whether this process is to talk to the user: the first of those that were started."""
    return (there := started()) is None or there.rank == 0


Work = Callable[[Ranks, RunConfig, Execution], Any]


def run_on_ranks(work: Work, config: RunConfig, execution: Execution) -> Any:
    """Do a run's work in as many processes as it sets; returns what the first one returns.

    Args:
        work: called in each process; a function that can be imported.
        config: the run.
        execution: where and how.

    Raises:
        RunError: a process has failed, or they have not found each other.
    """
    device, there = device_of(execution.accelerator), started()
    if there is not None and there.processes != config.processes:
        raise RunError.about(
            "devices",
            f"{config.devices} on {config.nodes} node(s)",
            f"the {there.processes} processes that {there.by} has started",
        )
    if config.processes == 1:
        return work(Ranks(device), config, execution)
    if device.type == "mps":
        raise RunError.about("devices", config.devices, "1 with accelerator mps")
    if there is not None:
        return _joined(work, config, execution, there.rank, there.local, _meeting_point(there.by))
    if config.nodes == 1:
        return _spawned(work, config, execution, 0, f"tcp://127.0.0.1:{free_port()}")
    if "MASTER_ADDR" not in os.environ:
        raise RunError.about(
            "nodes",
            config.nodes,
            "1, or a start by torchrun or srun, or MASTER_ADDR and NODE_RANK in the environment: "
            "else machines cannot find each other",
        )
    first = int(os.environ.get("NODE_RANK", 0)) * config.devices
    if config.devices == 1 or "LOCAL_RANK" in os.environ:
        local = int(os.environ.get("LOCAL_RANK", 0))
        return _joined(work, config, execution, first + local, local, _meeting_point("user"))
    return _spawned(work, config, execution, first, _meeting_point("user"))


def _meeting_point(by: str) -> str:
    """Where processes that were started on several machines find each other."""
    if by == "torchrun":
        return "env://"
    nodes, job = os.environ.get("SLURM_STEP_NODELIST", ""), os.environ.get("SLURM_JOB_ID", "0")
    head = re.match(r"([^\[,]*)(?:\[(\w+))?", nodes)  # of node[003-010,012],other1
    first = "".join(part or "" for part in head.groups()) if head else ""
    port = os.environ.get("MASTER_PORT", str(15000 + int(job) % 10000))
    return f"tcp://{os.environ.get('MASTER_ADDR', first)}:{port}"


def _joined(
    work: Work, config: RunConfig, execution: Execution, rank: int, local: int, point: str
) -> Any:
    """Do the work in this process of several; then leave the others.

    Threads of a group that nobody has left can abort the process at its end.
    """
    device = device_of(execution.accelerator)
    if device.type == "cuda":
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    try:
        torch.distributed.init_process_group(
            backend, point, timeout=JOINING, world_size=config.processes, rank=rank
        )
    except torch.distributed.DistError as error:
        minutes = JOINING.total_seconds() / 60
        raise RunError.about(
            "nodes",
            f"{config.nodes} with {config.devices} process(es) each",
            f"all of them to join within {minutes:g} minutes ({str(error).splitlines()[0]})",
        ) from error
    try:
        answer = work(Ranks(device, rank, config.processes), config, execution)
    except ProRandConvError as error:
        if _is_agreed(error):
            torch.distributed.destroy_process_group()
        raise
    torch.distributed.destroy_process_group()
    return answer


def _is_agreed(error: Exception) -> bool:
    return isinstance(error, StoppedError | DivergedError) or hasattr(error, AGREED)


def _spawned(work: Work, config: RunConfig, execution: Execution, first: int, point: str) -> Any:
    """Start the processes of this machine, pass signals on to them, and wait."""
    # Made before signals are blocked: it starts a helper of Python's, which lets them through.
    answers = multiprocessing.get_context("spawn").SimpleQueue()
    arguments = (work, config, execution, first, point, answers)
    with signals_blocked():
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
    if isinstance(answer, Exception):
        raise answer
    return answer


def _process(
    local: int,
    work: Work,
    config: RunConfig,
    execution: Execution,
    first: int,
    point: str,
    answers: Any,
) -> None:
    """What each process does. An error on which all agree is an answer, not a failure."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(torch.get_num_threads() // config.devices, 1))
    try:
        answer = _joined(work, config, execution, first + local, local, point)
    except ProRandConvError as error:
        if not _is_agreed(error):
            raise
        answer = error
    if local == 0:
        answers.put(answer)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
