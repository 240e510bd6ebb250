"""What finished runs no longer need: their checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import safe_open

from .directory import BEST, LOCK, PREVIOUS, RESULT, STATE


@dataclass(frozen=True)
class Prunable:
    """A finished run and its checkpoints."""

    run: Path
    files: tuple[Path, ...]
    bytes: int


def prunable(runs: Iterable[Path]) -> list[Prunable]:
    """The checkpoints that can go: those of runs with a result and intact best weights.

    Checkpoints of unfinished runs are what they resume from, and where the best weights are
    missing or damaged a checkpoint still holds them.

    Args:
        runs: directories of runs.
    """
    found = []
    for run in runs:
        files = tuple(path for path in (run / STATE, run / PREVIOUS) if path.exists())
        if files and (run / RESULT).exists() and _intact(run / BEST):
            found.append(Prunable(run, files, sum(path.stat().st_size for path in files)))
    return found


def prune(one: Prunable) -> bool:
    """Remove a run's checkpoints; False if a process is at work on the run.

    Args:
        one: the run.
    """
    try:
        with FileLock(one.run / LOCK, timeout=0):
            for path in one.files:
                path.unlink(missing_ok=True)
    except Timeout:
        return False
    return True


def _intact(weights: Path) -> bool:
    try:
        with safe_open(weights, framework="numpy") as stored:
            return len(stored.keys()) > 0
    except Exception:  # a damaged file raises a kind of its own, a missing one another
        return False
