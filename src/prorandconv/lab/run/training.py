"""One run: config in, result directory out.

Read it from the top: :func:`train` starts the processes, :func:`work` is what each of them does,
``Run`` goes through epochs and steps. A run that was killed is resumed as if it had not been: all
that changes is in its :class:`RunState`, which is the checkpoint.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from types import FrameType
from typing import NoReturn

import torch
from torch import Tensor

from ..data.samples import Batch
from ..errors import DivergedError, StoppedError
from ..models import macs
from ..tasks import get_task
from . import checkpoint
from .config import Execution, RunConfig
from .data import RunData, check_same_data, finished, learner_of, network_of
from .directory import ENVIRONMENT, METRICS, RESULT, TIMING, RunDirectory, note
from .display import run_display
from .distributed import Ranks, run_on_ranks
from .environment import deterministic, environment, keep_freed_memory
from .evaluation import Evaluator
from .optimisation import (
    NotFiniteError,
    StepLosses,
    keep_step,
    learn,
    learning_rate,
    read_losses,
    set_learning_rates,
    try_step,
)
from .signals import StopRequest, StopRequestedError, signals
from .state import RunState, Stored
from .stored import CHOICES, Result

STEPS_BETWEEN_CHECKS = 50
"""Losses are checked together: reading one makes the processor wait for a GPU."""


def train(config: RunConfig, execution: Execution | None = None) -> Result:
    """Train as the config says; resume what was begun; return the result of what is done.

    Raises:
        StoppedError: SIGTERM or Ctrl-C came; the run is saved.
        RunError: the run has failed; its last good checkpoint is kept.
    """
    execution = execution or Execution()
    if (done := finished(config, execution.runs)) is not None:
        for message in () if execution.quiet else done.messages:
            print(message, file=sys.stderr)
        return done.result
    result: Result = run_on_ranks(work, config, execution)
    return result


def work(ranks: Ranks, config: RunConfig, execution: Execution) -> Result:
    """What each process does; only the first one writes."""
    directory, stop = RunDirectory(config.directory(execution.runs)), StopRequest()
    with ExitStack() as held:
        held.enter_context(signals(stop))
        if ranks.first:
            with signals(_stop_waiting):
                held.enter_context(directory.locked(wait=execution.wait))
        held.enter_context(deterministic(config.deterministic))
        keep_freed_memory()
        done = ranks.on_first(directory.result)
        return done or Run(ranks, config, execution, directory, stop).train()


def _stop_waiting(number: int, frame: FrameType | None) -> NoReturn:
    """A signal that comes while another process is waited for."""
    raise StoppedError("stopped before it began; there was nothing to save")


class Run:
    """A run in one of its processes."""

    def __init__(
        self,
        ranks: Ranks,
        config: RunConfig,
        execution: Execution,
        directory: RunDirectory,
        stop: StopRequest,
    ) -> None:
        config.check_same_code()
        self.ranks, self.config, self.execution = ranks, config, execution
        self.directory, self.stop = directory, stop
        self.data = RunData(config)
        self.steps = self.total_steps = len(self.data.batches(ranks, torch.Generator()))
        """of the first epoch, and of the current one"""
        self.state = self.initial_state()
        self.evaluator = Evaluator(
            config,
            self.data.validation,
            self.data.shifted,
            self.data.targets,
            ranks.device,
            self.check_stop_here,
        )
        self.pending: list[StepLosses] = []
        """losses of the last steps, which were not read yet"""
        self.checked_until = (0, 0)
        """epoch and step up to which each step is checked by itself"""
        self.saved = time.monotonic()

    def initial_state(self) -> RunState:
        """The state at the beginning of the run; the same each time."""
        torch.manual_seed(self.config.seed)
        network = network_of(self.config, initial=True)
        learner = learner_of(self.config, network, self.data.training, self.steps, self.ranks)
        # Convolutions are faster with channels last.
        learner = learner.to(self.ranks.device).to(memory_format=torch.channels_last)
        return RunState(self.config, learner, self.ranks)

    def train(self) -> Result:
        """Resume if there is something to resume, train, measure, write the result."""
        messages, progress = self.begin(), self.state.progress
        done, first = progress.epoch + progress.step / max(self.steps, 1), self.ranks.first
        with run_display(self.config, self.execution, done, first=first) as self.display:
            for message in messages:
                self.display.warn(message)
            if progress.epoch or progress.step:
                self.display.say(f"resuming at epoch {progress.epoch + 1}, step {progress.step}")
            try:
                while self.state.progress.epoch < self.config.epochs:
                    self.train_epoch()
                return self.ranks.on_first(self.write_result)
            except StopRequestedError:
                with suppress(NotFiniteError):  # the checkpoint before that is kept
                    self.save()
                raise self.stopped("stopped and saved") from None

    def begin(self) -> list[str]:
        """Load the last checkpoint, and write what the run is; returns messages for the user."""
        if ":" in self.config.method + self.config.network:
            batches = self.data.batches(self.ranks, torch.Generator()).with_domains()
            try_step(self.config, self.state.learner, next(batches))
        messages = self.load()
        self.ranks.on_first(partial(self.write_beginning, messages))
        return messages if self.ranks.first else []

    def train_epoch(self) -> None:
        """Go once through the training images, or through what is left of them, and measure."""
        began = time.monotonic()
        try:
            self.take_steps()
        except NotFiniteError as error:
            self.return_to_checkpoint(error)
            return
        trained = time.monotonic()
        self.end_epoch()
        self.ranks.on_first(partial(self.write_epoch, trained - began, time.monotonic() - trained))
        self.display.epoch(self.state.progress.history[-1])

    def take_steps(self) -> None:
        """Learn from the mini-batches that are left of the current epoch."""
        for batch in self.batches():
            self.pending.append(self.step(batch))
            if len(self.pending) >= STEPS_BETWEEN_CHECKS:
                self.read_losses()
            self.display.step(self.state.progress, self.total_steps)
            self.tick()
        self.read_losses()

    def batches(self) -> Iterator[Batch]:
        """The mini-batches that are left of the current epoch."""
        state, progress = self.state, self.state.progress
        try:
            images = state.learner.begin_epoch(
                progress.epoch, self.data.training, state.augmentation, self.check_stop
            )
        except StopRequestedError:
            raise self.stopped("stopped while an epoch was prepared") from None
        order = state.rewound_order()
        batches = self.data.batches(self.ranks, order, progress.step, images)
        self.total_steps = progress.step + len(batches)
        state.learner.train()
        return batches.with_domains()

    def step(self, batch: Batch) -> StepLosses:
        """Learn from a mini-batch."""
        state, progress = self.state, self.state.progress
        done = progress.epoch + progress.step / self.total_steps
        set_learning_rates(state.optimisers.values(), self.config, done)
        check = (progress.epoch, progress.step) < self.checked_until
        before = state.generators() if check else []
        try:
            losses = learn(
                state.learner,
                state.optimisers,
                batch,
                state.augmentation,
                self.ranks,
                self.config.precision,
                check=check,
            )
        except NotFiniteError as error:
            self.fail(error, batch, before)
        state.average.update(progress.epoch)
        progress.step += 1
        progress.images_seen += len(batch.labels) * self.ranks.count
        return losses

    def read_losses(self) -> None:
        """Add the losses of the last steps up, and check them."""
        steps, self.pending = self.pending, []
        for (_, images), loss in zip(steps, read_losses(steps, self.ranks), strict=True):
            self.state.progress.loss_sum += loss
            self.display.loss = loss / (images * self.ranks.count)

    def tick(self) -> None:
        """Between steps: stop, or save a checkpoint if it is time to."""
        minutes = (time.monotonic() - self.saved) / 60
        due = self.ranks.first and minutes >= self.execution.checkpoint_minutes
        stop, save = self.ranks.any(bool(self.stop), due)
        if stop:
            raise StopRequestedError
        if save:
            self.save()

    def check_stop(self) -> None:
        """Raise in all processes if any is to stop."""
        if any(self.ranks.any(bool(self.stop))):
            raise StopRequestedError

    def check_stop_here(self) -> None:
        """Raise if this process is to stop."""
        if self.stop:
            raise StopRequestedError

    def end_epoch(self) -> None:
        """Validate, measure the targets if it is their turn, select weights, and save."""
        state, config = self.state, self.config
        images = self.data.batches(self.ranks, torch.Generator().manual_seed(0))
        with state.average.applied(images.with_domains()):
            network, epoch = state.learner.network, state.progress.epoch
            measured = self.ranks.on_first(lambda: self.evaluator.after_epoch(network, epoch + 1))
            state.end_epoch(measured, learning_rate(config, epoch))
        self.save()

    def load(self) -> list[str]:
        """Load the last checkpoint, or share the first weights."""

        def check(stored: Stored) -> None:
            source, present = self.config.source, self.data.fingerprints
            check_same_data(self.directory.path, source, stored["data"], present)

        return checkpoint.load(self.directory, self.state, self.ranks, check)

    def save(self) -> None:
        """Write a checkpoint."""
        self.read_losses()
        data = self.data.fingerprints if self.ranks.first else {}
        checkpoint.save(self.directory, self.state, self.ranks, data)
        self.saved = time.monotonic()

    def return_to_checkpoint(self, error: NotFiniteError) -> None:
        """Go back, and take each step by itself up to here: so the step that fails is known."""
        progress = self.state.progress
        self.checked_until = (progress.epoch, progress.step)
        self.display.say(f"{error}: back to the last checkpoint, to find the step")
        self.pending, self.state = [], self.initial_state()
        self.load()

    def fail(self, error: NotFiniteError, batch: Batch, before: list[Tensor]) -> NoReturn:
        """Keep what the step was made of, and end; the last checkpoint stays as it is."""
        path, progress = self.directory.path, self.state.progress
        advice = keep_step(path, self.ranks.own, self.state.learner, batch, before)
        raise DivergedError.at(
            path,
            f"{error} in epoch {progress.epoch + 1}, step {progress.step + 1}",
            f"the last good checkpoint is kept, and {advice}; a smaller learning rate often helps",
        ) from error

    def stopped(self, how: str) -> StoppedError:
        """The error that ends a run that is to stop."""
        epoch, step = self.state.progress.epoch + 1, self.state.progress.step
        return StoppedError(
            f"{how} in epoch {epoch}, after step {step} of {self.total_steps}; "
            f"the same command resumes the run ({self.directory.path})"
        )

    # What the first process alone does.

    def write_beginning(self, messages: list[str]) -> None:
        """Check the room on the disk, and write config, environment, and the metrics so far."""
        needed = checkpoint.disk_needed(self.config, self.state.learner)
        checkpoint.check_disk(self.directory, needed)
        note(self.directory.path, messages)
        self.directory.write_config(self.config)
        about = environment(self.ranks.device, self.ranks.count)
        self.directory.write_json(ENVIRONMENT, about)
        self.directory.write_lines(METRICS, self.state.progress.history)

    def write_epoch(self, training: float, evaluation: float) -> None:
        """Write the metrics, the selected weights, and the seconds that the epoch took.

        Times differ from run to run: they stay out of what is compared.
        """
        state = self.state
        self.directory.write_lines(METRICS, state.progress.history)
        self.directory.write_best(state.best, self.config, state.best_epoch)
        line = {"epoch": state.progress.epoch, "training_s": training, "evaluation_s": evaluation}
        try:
            self.directory.append_line(TIMING, line)
        except OSError as error:  # nothing depends on it
            self.display.warn(f"{TIMING} could not be written: {error.strerror}")

    def write_result(self) -> Result:
        """Measure the selected weights of earlier epochs, and write the result: it means done."""
        state, config, data, network = (
            self.state,
            self.config,
            self.data,
            self.state.learner.network,
        )
        epochs = {*state.progress.selected_epochs().values()} - {config.epochs}
        earlier = {e: self.evaluator.with_weights(network, state.kept[e]) for e in sorted(epochs)}
        metric = get_task(config.task).evaluation.metric
        result: Result = {
            "config": config.to_mapping(),
            "hash": config.hash,
            "classes": list(config.identity.classes),
            "averaged": list(data.targets.averaged),
            "absent": list(data.targets.absent),
            "selected": CHOICES[config.select],
            **state.progress.figures(metric, data.targets.averaged, earlier),
            "images": {"train": len(data.training), "val": len(data.validation)},
            "data": data.fingerprints,
            "parameters": sum(p.numel() for p in network.parameters()),
            "macs": macs(network, config.identity.image_size),
        }
        self.directory.write_best(state.best, config, state.best_epoch)
        self.directory.write_json(RESULT, result)
        if not self.execution.keep_checkpoint:
            self.directory.remove_checkpoints()
        return result
