"""Checkpoints: two files that hold all that is needed to resume a run bit for bit."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import DivergedError, RunError
from ..methods.learner import Learner
from .config import RunConfig
from .directory import PREVIOUS, STATE, RunDirectory
from .distributed import Ranks
from .state import RunState, Stored, not_finite

NETWORK = "network."
"""What names of the evaluated network's weights begin with in a learner's state."""
TRIES = 3
SECONDS_BETWEEN_TRIES = 1.0


def save(directory: RunDirectory, state: RunState, ranks: Ranks, data: Mapping[str, str]) -> None:
    """Write a checkpoint. All processes have to call it.

    Raises:
        DivergedError: the weights are of no use.
    """
    if wrong := not_finite(state.learner):
        raise DivergedError.at(
            directory.path,
            f"weights are not finite in epoch {state.progress.epoch + 1}: {', '.join(wrong[:3])}",
            "the last good checkpoint is kept; a smaller learning rate often helps",
        )
    stored = state.state_dict() | {"data": dict(data)}
    ranks.on_first(lambda: write_state(directory, stored))


def load(
    directory: RunDirectory, state: RunState, ranks: Ranks, check: Callable[[Stored], None]
) -> list[str]:
    """Go to where the last checkpoint was written; without one, share the first weights.

    Args:
        directory: the run's.
        state: as it is at the beginning of the run.
        ranks: all processes; the first one reads.
        check: raises if a checkpoint must not be resumed from, such as with other data.

    Returns:
        Messages about damaged checkpoints.
    """

    def check_both(stored: Stored) -> None:
        state.check(stored)
        check(stored)

    stored, messages = ranks.on_first(lambda: read_state(directory, check=check_both))
    if stored is not None:
        state.load_state_dict(stored)
    elif ranks.count > 1:
        state.learner.load_state_dict(ranks.on_first(state.learner.state_dict))
    return messages


@dataclass(frozen=True)
class Disk:
    """Bytes that a run writes; files of less than a megabyte are left out."""

    weights: int = 0
    """of the selected weights, which stay"""
    checkpoint: int = 0
    """of one of its two checkpoints, which go when the run is done"""

    @property
    def peak(self) -> int:
        """At most, while the run executes: a third checkpoint is written before one goes."""
        return 3 * self.checkpoint + 2 * self.weights


def disk_needed(config: RunConfig, learner: Learner) -> Disk:
    """The disk that a run takes with what it trains."""
    network, everything = _bytes(learner.network.state_dict()), _bytes(learner.state_dict())
    copies = 2 if config.optimiser != "sgd" else int(config.momentum > 0)
    moments = copies * sum(one.nbytes for one in learner.parameters())
    kept = (1 + config.shifted_validation) * network
    averages = 2 * network if config.average != "none" else 0
    return Disk(network, everything + moments + kept + averages)


def check_disk(directory: RunDirectory, needed: Disk) -> None:
    """Raise if the disk has no room for a run; files that it has already are not needed again."""
    present = (path.stat().st_size for path in directory.path.iterdir() if path.is_file())
    missing, free = needed.peak - sum(present), shutil.disk_usage(directory.path).free
    if missing > free:
        raise RunError.at(
            directory.path,
            f"its checkpoints need up to {missing / 1e6:.0f} MB, and the disk has {free / 1e6:.0f} "
            f"MB left ({needed.weights / 1e6:.0f} MB stay when the run is done)",
            "make room, or choose another folder of runs (--runs)",
        )


def _bytes(state: Mapping[str, Any]) -> int:
    return sum(one.nbytes for one in state.values() if isinstance(one, Tensor))


def write_state(directory: RunDirectory, state: Stored) -> None:
    """Write a checkpoint; the one before it is kept."""
    buffer = io.BytesIO()
    torch.save({"checksum": checksum(state), "state": state}, buffer)
    directory.write(STATE, buffer.getbuffer())


def read_state(
    directory: RunDirectory,
    *,
    check: Callable[[Stored], None] = lambda state: None,
    set_aside: bool = True,
) -> tuple[Stored | None, list[str]]:
    """The latest checkpoint that is intact and fits, and messages about others.

    Args:
        directory: the run's.
        check: raises if a checkpoint is intact but has other content than this run's.
        set_aside: give a checkpoint that is of no use another name; False moves no file.
    """
    messages: list[str] = []
    for name in (STATE, PREVIOUS):
        path = directory.path / name
        if not path.exists():
            continue
        try:
            state = _intact(path)
            check(state)
        except RunError:
            raise
        except _DamagedError as error:
            problem = f"is damaged ({error})"
        except Exception as error:
            problem = f"is intact but does not belong to this run ({error})"
        else:
            return state, messages
        if set_aside:
            aside = path.with_name(f"{path.stem}.damaged-{path.stat().st_mtime_ns}.pt")
            os.replace(path, aside)
            problem += f"; set aside as {aside.name}"
        messages.append(f"{path} {problem}")
    if messages and set_aside:
        messages.append("no usable checkpoint is left: training starts over")
    return None, messages


def network_weights(state: Stored) -> dict[str, Tensor]:
    """The weights of the evaluated network in a checkpoint: the average, if there is one."""
    average: dict[str, Tensor] = state.get("average", {}).get("evaluated", {})
    if average:
        return average
    learner: Mapping[str, Any] = state["learner"]
    return {
        name.removeprefix(NETWORK): value
        for name, value in learner.items()
        if name.startswith(NETWORK)
    }


class _DamagedError(Exception):
    """A file whose content is not what was written."""


def _intact(path: Path) -> Stored:
    """The content of a checkpoint, if its checksum is right.

    A file that cannot be read at the moment, or does not fit into memory, is not damaged.
    """
    for left in range(TRIES)[::-1]:
        try:
            stored = torch.load(
                io.BytesIO(path.read_bytes()), map_location="cpu", weights_only=True
            )
            break
        except Exception as error:  # a damaged file raises almost anything
            if not isinstance(error, OSError | MemoryError) and "allocate" not in str(error):
                raise _DamagedError(f"{type(error).__name__} while reading it") from error
            if not left:
                raise RunError.at(
                    path,
                    f"cannot be read at the moment ({str(error) or type(error).__name__})",
                    "nothing was changed: run the same command again",
                ) from error
            time.sleep(SECONDS_BETWEEN_TRIES)
    if not isinstance(stored, dict) or stored.get("checksum") != checksum(stored.get("state")):
        raise _DamagedError("its checksum is wrong")
    state: Stored = stored["state"]
    return state


def checksum(state: Any) -> str:
    """A hash of a tree of tensors and JSON values."""
    digest = hashlib.sha256()

    def feed(value: Any) -> None:
        if isinstance(value, Tensor):
            digest.update(f"{value.dtype}{tuple(value.shape)}".encode())
            flat = value.detach().cpu().contiguous().reshape(-1)
            digest.update(flat.view(torch.uint8).numpy().data if flat.numel() else b"")
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                digest.update(f"{key!r}:".encode())
                feed(inner)
        elif isinstance(value, list | tuple):
            digest.update(f"[{len(value)}".encode())
            for inner in value:
                feed(inner)
        else:
            digest.update(repr(value).encode())

    feed(state)
    return digest.hexdigest()
