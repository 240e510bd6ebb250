"""What a run computes with: device, memory, precision, determinism, and a note of where it ran."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import torch.utils.deterministic

from ... import engines
from ...errors import ProRandConvError

_FILLING = "fill_uninitialized_memory"
"""A switch of torch's that is set by name, as the module has it only when it runs."""


_MALLOC = {"M_MMAP_MAX": (-4, 0), "M_TRIM_THRESHOLD": (-1, 2**31 - 1), "M_TOP_PAD": (-2, 2**26)}
"""Options of glibc's allocator, their numbers in malloc.h, and what they are set to."""


def keep_freed_memory() -> None:
    """Let this process keep memory that tensors have freed, for those of the next step.

    Otherwise glibc returns large blocks to the system and gets new ones, in each step, which the
    system fills with zeros page by page. Other systems and allocators are left as they are.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        for option, value in _MALLOC.values():
            mallopt(option, value)


def environment(device: torch.device, processes: int) -> dict[str, Any]:
    """What a result may owe to the machine it was made on."""
    packages = ("prorandconv", "torch", "torchvision", "numpy")
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


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """The numeric precision of a run's network, in training and in evaluation alike."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16-mixed")


def device_of(accelerator: str) -> torch.device:
    """The device that a name stands for.

    Args:
        accelerator: auto (the fastest there is), cpu, cuda or mps.
    """
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    found = [name for name, present in there.items() if present]
    if accelerator == "auto":
        return torch.device(found[0])
    if accelerator not in found:
        raise ProRandConvError.about(
            "accelerator", accelerator, f"auto or what this machine has: {', '.join(found)}"
        )
    return torch.device(accelerator)
