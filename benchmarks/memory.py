"""Peak extra memory of a candidate, counted allocation by allocation.

Each candidate runs in a fresh process before whose allocator a counter is loaded
(``allocations.c``). It sees torch's tensors, numpy's arrays and the native engine's scratch alike,
and to the byte, where the resident set would also show how allocators and thread pools warm up.

The process first augments two tiny batches and multiplies two matrices, so that libraries, threads
and compiled code are there. Then come two calls at the size in question, with different draws
and two repetitions each: a third repetition needs what the second needed. The figure is the highest
number of allocated bytes in these calls over that before them, in copies of the batch. It includes
drawing, the result, and what a candidate keeps from call to call, which is also given by itself.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from candidates import CANDIDATES, CHANNELS, PER_IMAGE

HERE = Path(__file__).parent
CALLS, REPEATS = 2, 2


class NotMeasuredError(Exception):
    """Why there is no figure."""


@functools.cache
def counter() -> Path:
    """Compile the counter."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        raise NotMeasuredError("counting allocations needs Linux and a C compiler")
    library = Path(tempfile.mkdtemp(prefix="allocations-")) / "allocations.so"
    source = HERE / "allocations.c"
    done = subprocess.run(
        [compiler, "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", library, source],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NotMeasuredError(f"{source.name} does not compile: {done.stderr.strip()[-200:]}")
    return library


def copies_of_the_batch(name: str, size: int, batch: int) -> dict[str, float]:
    """Memory at its peak, and kept after the calls, in copies of a float32 batch."""
    arguments = [name, str(size), str(batch), str(torch.get_num_threads())]
    environment = {**os.environ, "LD_PRELOAD": str(counter())}
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[-1]
        raise NotMeasuredError(last)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _child(name: str, size: int, batch: int, threads: int) -> dict[str, float]:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    counter = ctypes.CDLL(None)
    counter.allocations_live.restype = counter.allocations_highest.restype = ctypes.c_long
    augment = (CANDIDATES | PER_IMAGE)[name].make()
    with torch.no_grad():
        for images, side in ((2, 16), (3, 24)):
            augment(torch.rand(images, CHANNELS, side, side), REPEATS)
        torch.mm(*torch.rand(2, 512, 512))
        x = torch.rand(batch, CHANNELS, size, size)
        before = counter.allocations_live()
        counter.allocations_restart()
        for _ in range(CALLS):
            augment(x, REPEATS)
    peak, kept = counter.allocations_highest() - before, counter.allocations_live() - before
    return {"peak": peak / x.nbytes, "kept": kept / x.nbytes}


if __name__ == "__main__":
    print(json.dumps(_child(sys.argv[1], *map(int, sys.argv[2:]))))
