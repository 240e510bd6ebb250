"""What a run asks of its process: signals, determinism, and a note of where it ran."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.utils.deterministic

from ... import engines

_FILLING = "fill_uninitialized_memory"
"""A switch of torch's that is set by name, as the module has it only when it runs."""


def environment(device: torch.device, processes: int) -> dict[str, Any]:
    """What a result may owe to the machine it was made on."""
    packages = ("prorandconv", "torch", "torchvision", "numpy", "lightning-fabric")
    return {
        "command": command(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "device": str(device),
        "processor": processor(),
        **({"gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else {}),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processes": processes,
        "engines": engines(),
    }


def command() -> list[str]:
    """The command line as one would type it: where the program lies does not matter."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def processor() -> str:
    """The processor's name, where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Use only algorithms that give the same bits each time, where there are such."""
    was = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    filled = getattr(torch.utils.deterministic, _FILLING)
    cudnn = torch.backends.cudnn.deterministic
    if wanted:
        # Without it, cuBLAS may add up in another order each time.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        # Filling memory before use finds mistakes, not differences, and costs time.
        setattr(torch.utils.deterministic, _FILLING, False)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.deterministic = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was, warn_only=warned)
        setattr(torch.utils.deterministic, _FILLING, filled)
        torch.backends.cudnn.deterministic = cudnn


class StopRequest:
    """A handler of signals that is true once SIGTERM or Ctrl-C has come.

    What was begun is then finished and saved; a second Ctrl-C does not wait for that.
    """

    def __init__(self) -> None:
        self._came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take note of a signal."""
        if self._came and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._came = True

    def __bool__(self) -> bool:
        return self._came


@contextmanager
def signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle SIGTERM and SIGINT; other threads than the main one cannot."""
    before = {}
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, handler)
    except ValueError:
        pass
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def pass_on(number: int, frame: FrameType | None) -> None:
    """The parent of the processes: they save, it waits."""
    for child in multiprocessing.active_children():
        child.terminate()
