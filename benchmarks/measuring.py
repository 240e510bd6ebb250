"""What all benchmarks share: the clock, spreads, the machine, and files written whole."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import prorandconv as prc
from prorandconv.lab.run.environment import processor

PACKAGES = ("torch", "torchvision", "numpy", "kornia")


def synchronise(device: torch.device | str) -> None:
    """Wait until a device has done what it was told."""
    if torch.device(device).type != "cpu":
        torch.get_device_module(device).synchronize()


def timed(
    call: Callable[[], object],
    *,
    calls: int = 1,
    until: float = 0.0,
    device: torch.device | str = "cpu",
) -> float:
    """Median seconds of a call, repeated up to ``calls`` times while ``until`` is not reached.

    Repeating short calls keeps the caches that others left behind out of the figure. A device is
    waited for before and after.
    """
    times: list[float] = []
    while not times or (len(times) < calls and sum(times) < until):
        synchronise(device)
        began = time.perf_counter()
        call()
        synchronise(device)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


class Disturbance:
    """How much of the processors something else took while this process measured."""

    share: float | None = None
    """0 is none, 1 is everything; None where the system does not tell"""

    def __enter__(self) -> Disturbance:
        self._began, self._before = time.perf_counter(), self._others()
        return self

    def __exit__(self, *_: object) -> None:
        after, passed = self._others(), time.perf_counter() - self._began
        if after is not None and self._before is not None:
            available = passed * (os.cpu_count() or 1)
            self.share = max(0.0, (after - self._before) / available)

    @staticmethod
    def _others() -> float | None:
        """Seconds of all processors that were neither idle nor ours, stolen ones included."""
        statistics_file = Path("/proc/stat")
        if not statistics_file.exists():
            return None
        ticks = [int(value) for value in statistics_file.read_text().split("\n")[0].split()[1:9]]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        return busy - sum(os.times()[:4])


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles."""
    if len(values) == 1:
        return dict.fromkeys(("median", "lower_quartile", "upper_quartile"), values[0])
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "lower_quartile": lower, "upper_quartile": upper}


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent p of y ~ x^p: least squares on logarithms."""
    return statistics.linear_regression(
        [math.log(value) for value in x], [math.log(value) for value in y]
    ).slope


def multiply_add_peak(device: torch.device | str = "cpu") -> float:
    """Multiply-adds per second of the best large float32 matrix product."""
    best = 0.0
    for side in (512, 1024, 2048):
        a, b = torch.randn(2, side, side, device=device)
        once = functools.partial(timed, lambda a=a, b=b: torch.mm(a, b), device=device)
        best = max(best, *(side**3 / once() for _ in range(5)))
    return best


def copy_bandwidth(size: int, device: torch.device | str = "cpu") -> float:
    """Bytes per second, read and written, of copying a buffer of ``size`` bytes at its best."""
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.zeros_like(source)
    best, stop = math.inf, time.perf_counter() + 1.0
    while time.perf_counter() < stop:
        best = min(best, timed(lambda: target.copy_(source), device=device))
    return 2 * size / best


def device_name(device: str) -> str:
    """What a device is called by its maker, where torch tells."""
    kind = torch.device(device).type
    return torch.cuda.get_device_name(device) if kind == "cuda" else kind


def machine() -> dict[str, Any]:
    """What a figure depends on: processor, threads, versions, engines and this package's code."""
    found: dict[str, Any] = {
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return {**found, "engines": prc.engines(), "code": _fingerprint()}


def _fingerprint() -> str:
    """Hash of the library as it is here, without the lab."""
    content = hashlib.sha256()
    package = Path(prc.__file__).parent
    for path in sorted(
        [*package.glob("*.py"), *package.glob("ops/*.py"), *package.glob("ops/*/*")]
    ):
        if path.suffix in (".py", ".cpp", ".h"):
            content.update(path.read_bytes())
    return content.hexdigest()[:12]


def write_json(path: Path, content: object) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    os.replace(temporary, path)
