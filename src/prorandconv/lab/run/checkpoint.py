"""Checkpoints: two files that hold all that is needed to resume a run bit for bit."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ..errors import DivergedError, RunError
from ..methods.learner import Learner
from .averaging import WeightAverage
from .config import RunConfig
from .directory import PREVIOUS, STATE, RunDirectory
from .distributed import Ranks
from .result import RunState
from .state import Generators, Selection
from .values import refuse_other_data

NETWORK = "network."
"""What names of the evaluated network's weights begin with in a learner's state."""
TRIES = 3
SECONDS_BETWEEN_TRIES = 1.0

State = dict[str, Any]


class Checkpoints:
    """Saves and loads what changes in a run.

    Args:
        directory: where the files are.
        ranks: the first one reads and writes.
        config: the run.
        learner: what is trained.
        optimisers: by name.
        average: of the weights.
        generators: of this process.
        data: fingerprints of all images, which must not change; those of the first process count.
    """

    def __init__(
        self,
        directory: RunDirectory,
        ranks: Ranks,
        config: RunConfig,
        learner: Learner,
        optimisers: Mapping[str, Optimizer],
        average: WeightAverage,
        generators: Generators,
        data: Mapping[str, str],
    ) -> None:
        self._directory, self._ranks = directory, ranks
        self._config, self._data = config, data
        self._learner, self._optimisers, self._generators = learner, optimisers, generators
        self._average = average

    def save(self, state: RunState, selection: Selection) -> None:
        """Write a checkpoint.

        Args:
            state: how far the run is.
            selection: the weights that count, and those of other choices.

        Raises:
            DivergedError: the weights are of no use.
        """
        self._refuse_not_finite(state)
        generators = self._ranks.all_say(self._generators.own())
        if self._ranks.first:
            stored = {
                "run": asdict(state),
                "learner": self._learner.state_dict(),
                "optimisers": self._state_of_optimisers(),
                "average": self._average.state(),
                "best": dict(selection.best),
                "others": {epoch: dict(weights) for epoch, weights in selection.others.items()},
                "order": self._generators.epoch_order,
                "generators": generators,
                "data": dict(self._data),
            }
            write_state(self._directory, stored)

    def load(self) -> tuple[RunState, Selection, list[str]]:
        """Go to where the last checkpoint was written.

        Returns:
            How far the run is, the weights that may be chosen, and messages about damaged
            checkpoints.
        """
        stored, messages = self._ranks.first_says(
            lambda: read_state(self._directory, fits=self._check)
        )
        if stored is None:
            if self._ranks.count > 1:
                self._learner.load_state_dict(self._ranks.first_says(self._learner.state_dict))
            state = RunState()
            return state, Selection(self._config.select, state), messages
        self._learner.load_state_dict(stored["learner"])
        for name, optimiser in self._optimisers.items():
            optimiser.load_state_dict(stored["optimisers"][name])
        if "average" in stored:  # which older checkpoints do without
            self._average.restore(stored["average"])
        self._generators.restore(stored["order"], stored["generators"][self._ranks.own])
        state = RunState(**stored["run"])
        others = stored.get("others", {})  # checkpoints of before there was a choice have none
        kept = (stored["best"], others) if self._ranks.first else ()
        return state, Selection(self._config.select, state, *kept), messages

    def _refuse_not_finite(self, state: RunState) -> None:
        weights = self._learner.named_parameters()
        wrong = [name for name, one in weights if not torch.isfinite(one).all()]
        if wrong:
            raise DivergedError.at(
                self._directory.path,
                f"weights are not finite in epoch {state.epoch + 1}: {', '.join(wrong[:3])}",
                "the last good checkpoint is kept; a smaller learning rate often helps",
            )

    def _check(self, stored: State) -> None:
        """Raise if this is no checkpoint of this run, before anything is changed."""
        RunState(**stored["run"])
        expected = _shapes(self._learner.state_dict()), _sizes(self._state_of_optimisers())
        found = _shapes(stored["learner"]), _sizes(stored["optimisers"])
        if found != expected:
            raise ValueError("other weights than this run trains")
        if len(stored["generators"]) != self._ranks.count:
            raise ValueError(f"of {len(stored['generators'])} processes")
        refuse_other_data(self._directory.path, self._config.source, stored["data"], self._data)

    def _state_of_optimisers(self) -> State:
        return {name: optimiser.state_dict() for name, optimiser in self._optimisers.items()}


def write_state(directory: RunDirectory, state: State) -> None:
    """Write a checkpoint; the one before it is kept."""
    buffer = io.BytesIO()
    torch.save({"checksum": checksum(state), "state": state}, buffer)
    directory.write(STATE, buffer.getbuffer())


def read_state(
    directory: RunDirectory,
    *,
    fits: Callable[[State], None] = lambda state: None,
    set_aside: bool = True,
) -> tuple[State | None, list[str]]:
    """The latest checkpoint that is intact and fits, and messages about others.

    Args:
        directory: the run's.
        fits: raises if a checkpoint is intact but has other content than this run's.
        set_aside: give a checkpoint that is of no use another name; False moves no file.
    """
    messages: list[str] = []
    for name in (STATE, PREVIOUS):
        path = directory.path / name
        if not path.exists():
            continue
        try:
            state = _intact(path)
            _refuse_earlier_version(path, state)
            fits(state)
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


def network_weights(state: State) -> dict[str, Tensor]:
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


def _intact(path: Path) -> State:
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
    state: State = stored["state"]
    return state


def _refuse_earlier_version(path: Path, state: State) -> None:
    if {"network", "optimiser", "position"} <= set(state):
        raise RunError.at(
            path,
            "was written by an earlier version of prorandconv",
            "resume the run with that version, or move its directory away to start over",
        )


def checksum(state: Any) -> str:
    """A hash of a tree of tensors and plain values."""
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


def _shapes(state: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(one.shape) for name, one in state.items() if isinstance(one, Tensor)}


def _sizes(optimisers: Mapping[str, Any]) -> dict[str, list[int]]:
    return {
        name: [len(group["params"]) for group in one["param_groups"]]
        for name, one in optimisers.items()
    }
