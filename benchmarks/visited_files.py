"""How many files of the lab a run of one epoch visits: those a newcomer has to read to follow it.

A file is visited if a function in it is called. Imports, and what is made once (digits-mini), are
left out: the same run is trained before with another seed.

    python benchmarks/visited_files.py
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from prorandconv import lab
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.training import train

LAB = Path(lab.__file__).parent


def visited(work: Callable[[], object]) -> list[str]:
    """The files of the lab in which functions are called while something is done."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(str(Path(one).relative_to(LAB)) for one in files if Path(one).is_relative_to(LAB))


def one_epoch(seed: int, runs: str) -> None:
    """Train Pro-RandConv for one epoch on a few images."""
    config = RunConfig.paper(
        "digits-mini", "mnist", epochs=1, train_images=64, test_images=20, seed=seed
    )
    train(config, Execution(Path(runs), "cpu", quiet=True))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        one_epoch(0, folder)
        found = visited(lambda: one_epoch(1, folder))
    print(*found, sep="\n")
    print(f"a run of one epoch: {len(found)} files")
