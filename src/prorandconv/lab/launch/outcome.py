"""How a run ended, and one attempt at it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from ...errors import ProRandConvError
from ..errors import DivergedError, StoppedError
from ..run.config import Execution, RunConfig
from ..run.directory import notes
from ..run.stored import Result
from ..run.training import train

TRIES = 2
"""A run that fails is tried once more, from its last checkpoint."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    config: RunConfig
    result: Result | None = None
    problem: str = ""
    """why there is no result"""
    diverged: bool = False
    """whether the loss was no longer finite, which it would be again"""
    stopped: bool = False
    """whether the run was asked to stop, and is saved"""
    messages: tuple[str, ...] = ()
    """what happened to the run that people should know, such as a damaged checkpoint"""

    def worth_retrying(self, tries: int) -> bool:
        """Whether to try once more after so many tries."""
        return self.result is None and not self.diverged and tries < TRIES


def attempt(config: RunConfig, execution: Execution) -> Outcome:
    """Train, and tell how it ended instead of raising."""
    outcome = _attempt(config, execution)
    with suppress(ProRandConvError):  # a run that cannot be named has no directory either
        messages = notes(config.directory(execution.runs))
        outcome = replace(outcome, messages=tuple(messages))
    return outcome


def _attempt(config: RunConfig, execution: Execution) -> Outcome:
    try:
        return Outcome(config, train(config, execution))
    except StoppedError as stopped:
        return Outcome(config, problem=str(stopped), stopped=True)
    except DivergedError as error:
        return Outcome(config, problem=error.problem or str(error), diverged=True)
    except Exception as error:  # whatever a method or network of a user's raises
        text = str(error) or type(error).__name__
        known = isinstance(error, ValueError | OSError)
        return Outcome(config, problem=text if known else f"{type(error).__name__}: {text}")
