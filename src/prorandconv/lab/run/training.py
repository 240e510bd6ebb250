"""One run: config in, result directory out.

Read it from the top: :func:`train` starts the processes, :func:`_run` is what each of them does,
``Run`` goes through epochs and steps. What has state is in a checkpoint: a run that was killed is
resumed as if it had not been.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from types import FrameType
from typing import NoReturn

import torch
from torch import Tensor

from ..errors import DivergedError, RunError, StoppedError
from ..fabric import Fabric
from ..tasks import Evaluation
from .averaging import WeightAverage
from .checkpoint import Checkpoints
from .config import Execution, RunConfig
from .data import RunData, learner_of, network_of
from .directory import ENVIRONMENT, METRICS, RESULT, TIMING, RunDirectory, note
from .display import run_display
from .distributed import Ranks, in_processes
from .environment import deterministic, environment, keep_freed_memory
from .evaluation import Measuring
from .finished import finished
from .optimisation import (
    NotFiniteError,
    keep_step,
    learn,
    learning_rate,
    optimiser_maker,
    set_learning_rates,
    try_step,
)
from .result import RunState, put_together
from .signals import StopRequest, signals
from .state import Generators, Selection
from .stored import Result


def train(config: RunConfig, execution: Execution | None = None) -> Result:
    """Train as the config says; resume what was begun; return the result of what is done.

    Args:
        config: the run.
        execution: where and how.

    Raises:
        StoppedError: SIGTERM or Ctrl-C came; the run is saved.
        RunError: the run has failed; its last good checkpoint is kept.
    """
    execution = execution or Execution()
    done = finished(config, execution.runs)
    if done is not None:
        for message in () if execution.quiet else done.messages:
            print(message, file=sys.stderr)
        return done.result
    ended: Result | RunError = in_processes(_run, config, execution)
    if isinstance(ended, RunError):
        raise ended
    return ended


def _run(fabric: Fabric, config: RunConfig, execution: Execution) -> Result | RunError:
    """What each process does; only the first one writes.

    Errors on which all processes agree are returned: a process that raises has failed alone.
    """
    ranks = Ranks.of(fabric)
    directory = RunDirectory(config.directory(execution.runs))
    with ExitStack() as held:
        try:
            stop = StopRequest()
            held.enter_context(signals(stop))
            if ranks.first:
                with signals(_give_up):
                    held.enter_context(directory.locked(wait=execution.wait))
            if (done := ranks.first_says(directory.result)) is not None:
                return done
            held.enter_context(deterministic(config.deterministic))
            keep_freed_memory()
            return Run(ranks, config, execution, directory, stop).to_the_end()
        except (StoppedError, DivergedError) as ended:
            return ended


def _give_up(number: int, frame: FrameType | None) -> NoReturn:
    """A signal that comes while another process is waited for."""
    raise StoppedError("stopped before it began; there was nothing to save")


class Run:
    """A run in one of its processes.

    Args:
        ranks: the processes.
        config: the run.
        execution: where and how.
        directory: where its files are.
        stop: true once it is to stop.
    """

    def __init__(
        self,
        ranks: Ranks,
        config: RunConfig,
        execution: Execution,
        directory: RunDirectory,
        stop: StopRequest,
    ) -> None:
        self.ranks, self.config, self.execution = ranks, config, execution
        self.directory, self.stop = directory, stop
        self.data = RunData(config)
        torch.manual_seed(config.seed)
        network = network_of(config, initial=True)
        self.steps = len(self.data.batches(ranks, torch.Generator()))
        learner = learner_of(config, network, self.data.training, self.steps, ranks.gather)
        # Convolutions are faster with channels last.
        self.learner = learner.to(ranks.device).to(memory_format=torch.channels_last)
        self.optimisers = self.learner.optimisers(optimiser_maker(config))
        self.average = WeightAverage(config, self.learner)
        self.generators = Generators(config.seed, ranks)
        self.checkpoints = Checkpoints(
            directory,
            ranks,
            config,
            self.learner,
            self.optimisers,
            self.average,
            self.generators,
            self.data.fingerprints if ranks.first else {},
        )
        self.measuring = Measuring(
            config, self.data.validation, self.data.shifted, self.data.targets, ranks.device, stop
        )
        self.state = RunState()
        self.selection = Selection(config.select, self.state)
        self.saved = time.monotonic()

    def to_the_end(self) -> Result:
        """Resume if there is something to resume, train, measure, write the result."""
        if ":" in self.config.method or ":" in self.config.network:
            images, labels = next(iter(self.data.batches(self.ranks, torch.Generator())))
            try_step(self.config, self.learner, images, labels)
        self.state, self.selection, messages = self.checkpoints.load()
        state, first = self.state, self.ranks.first
        if first:
            note(self.directory.path, messages)
            self.directory.write_config(self.config)
            about = environment(self.ranks.device, self.ranks.count)
            self.directory.write_json(ENVIRONMENT, about)
            self.directory.write_lines(METRICS, state.history)
        done = state.epoch * self.steps + state.step
        with run_display(self.config, self.execution, self.steps, done, first) as self.display:
            for message in messages if first else ():
                self.display.warn(message)
            if done:
                self.display.say(f"resuming at epoch {state.epoch + 1}, step {state.step}")
            while state.epoch < self.config.epochs:
                began = time.monotonic()
                self.train_epoch()
                trained = time.monotonic()
                self.finish_epoch()
                self._note_timing(trained - began, time.monotonic() - trained)
            return self.finish()

    def train_epoch(self) -> None:
        """Go once through the source, or through what is left of it."""
        state, generators = self.state, self.generators
        generators.order.set_state(generators.epoch_order)
        self.learner.train()
        for batch in self.data.batches(self.ranks, generators.order, state.step):
            done = state.epoch + state.step / self.steps
            set_learning_rates(self.optimisers.values(), self.config, done)
            before = generators.own()
            try:
                loss_sum, seen = learn(
                    self.learner,
                    self.optimisers,
                    batch,
                    generators.augmentation,
                    self.ranks,
                    self.config.precision,
                )
            except NotFiniteError as error:
                self._fail(error, batch, before)
            self.average.take_step(state.epoch)
            state.step += 1
            state.loss_sum += loss_sum
            state.images_seen += seen
            self.display.step(state.epoch + 1, loss_sum / seen, seen)
            minutes = (time.monotonic() - self.saved) / 60
            due = self.ranks.first and minutes >= self.execution.checkpoint_minutes
            stop, save = self.ranks.summed([bool(self.stop), due])
            if stop:
                self._save_and_stop()
            if save:
                self.save()

    def finish_epoch(self) -> None:
        """Validate, measure the targets if it is their turn, select, and save."""
        state, config = self.state, self.config
        with self.average.in_place(self.data.batches(self.ranks, torch.Generator().manual_seed(0))):
            measured = self.ranks.first_says(
                lambda: self.measuring.after_epoch(self.learner.network, state.epoch + 1)
            )
            if measured is not None:
                line = state.end_epoch(measured, learning_rate(config, state.epoch))
                if self.ranks.first:
                    self.selection.keep(self.learner.network)
        if measured is None:
            self._save_and_stop()
        self.generators.epoch_order = self.generators.order.get_state()
        self.save()
        if self.ranks.first:
            self.directory.write_lines(METRICS, state.history)
            self.directory.write_best(self.selection.best, config, self.selection.epoch)
        self.display.epoch(line)

    def finish(self) -> Result:
        """Measure the selected weights, and write the result: its presence means done."""
        earlier: dict[int, Mapping[str, Evaluation]] = {}
        for epoch in sorted({*self.state.chosen_epochs().values()} - {self.config.epochs}):
            weights = self.selection.of(epoch)
            found = self.ranks.first_says(
                partial(self.measuring.with_weights, self.learner.network, weights)
            )
            if found is None:
                self._save_and_stop()
            earlier[epoch] = found
        return self.ranks.first_says(lambda: self._write_result(earlier))

    def _write_result(self, earlier: Mapping[int, Mapping[str, Evaluation]]) -> Result:
        found = put_together(self.config, self.data, self.learner.network, self.state, earlier)
        self.directory.write_best(self.selection.best, self.config, self.selection.epoch)
        self.directory.write_json(RESULT, found)
        return found

    def save(self) -> None:
        """Write a checkpoint."""
        self.checkpoints.save(self.state, self.selection)
        self.saved = time.monotonic()

    def _save_and_stop(self) -> NoReturn:
        self.save()
        raise StoppedError(
            f"stopped and saved in epoch {self.state.epoch + 1}, after step {self.state.step} of "
            f"{self.steps}; the same command resumes the run ({self.directory.path})"
        )

    def _fail(
        self, error: NotFiniteError, batch: tuple[Tensor, Tensor], before: list[Tensor]
    ) -> NoReturn:
        """Keep what the step was made of, and end; the last checkpoint stays as it is."""
        path = self.directory.path
        advice = keep_step(path, self.ranks.own, self.learner, batch, before)
        raise DivergedError.at(
            path,
            f"{error} in epoch {self.state.epoch + 1}, step {self.state.step + 1}",
            f"the last good checkpoint is kept, and {advice}; a smaller learning rate often helps",
        ) from error

    def _note_timing(self, training: float, evaluation: float) -> None:
        """Wall-clock times differ from run to run: they stay out of what is compared."""
        line = {"epoch": self.state.epoch, "training_s": training, "evaluation_s": evaluation}
        if self.ranks.first:
            try:
                self.directory.append_line(TIMING, line)
            except OSError as error:  # nothing depends on it
                self.display.warn(f"{TIMING} could not be written: {error.strerror}")
