"""What a training step of a run costs, on the device at hand."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ..data.samples import Batch
from ..data.shifts import FAMILIES, LIMIT
from ..progress import progress
from ..run.checkpoint import Disk, disk_needed
from ..run.config import Execution, RunConfig
from ..run.data import learner_of, network_of, open_benchmark
from ..run.directory import METRICS, RESULT
from ..run.display import duration
from ..run.distributed import Ranks
from ..run.environment import autocast, deterministic, device_of
from ..run.optimisation import learn, optimiser_maker
from ..tasks import get_task


class Step:
    """Steps of a run's method and network on noise: what they cost does not depend on the images.

    Args:
        config: the run.
        device: where to compute.
        batch: images of a mini-batch, where it is not to be the run's.
    """

    def __init__(self, config: RunConfig, device: torch.device, batch: int | None = None) -> None:
        size, classes = config.identity.image_size, len(config.identity.classes)
        count = batch or config.batch_size
        self.config, self.device = config, device
        self.generator = torch.Generator().manual_seed(0)
        self.images = (torch.rand(count, 3, size, size, generator=self.generator) * 2 - 1).to(
            device
        )
        self.labels = get_task(config.task).labels(count, classes, size).to(device)
        learner = learner_of(config, network_of(config))
        self.learner = learner.to(device).to(memory_format=torch.channels_last)
        self.ranks = Ranks(device)
        self.network = self.learner.network
        self.optimisers = self.learner.optimisers(optimiser_maker(config))

    def train(self) -> float:
        """Train one step; returns its seconds."""
        self.learner.train()
        with deterministic(self.config.deterministic):
            began = self._now()
            learn(
                self.learner,
                self.optimisers,
                Batch(self.images, self.labels, torch.zeros(len(self.labels))),
                self.generator,
                self.ranks,
                self.config.precision,
            )
            return self._now() - began

    def disk(self) -> Disk:
        """What a run writes."""
        return disk_needed(self.config, self.learner)

    def infer(self) -> float:
        """Classify the mini-batch once; returns the seconds."""
        self.network.eval()
        with torch.inference_mode(), autocast(self.device, self.config.precision):
            began = self._now()
            self.network(self.images)
            return self._now() - began

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


STEPS = 4
LONG = 1800.0
"""Seconds of a run that is worth a warning."""
PIXELS = 64 * 64 * 64
"""Pixels of a mini-batch that is timed whole; of larger images fewer are timed."""


@dataclass(frozen=True)
class Pace:
    """Seconds for each image of a method and network."""

    training: float
    inference: float
    disk: Disk = field(default_factory=Disk)
    """of a run, whatever its length"""


class Estimator:
    """Times each method and network once.

    Args:
        runs: folder of all runs, to see how far those are that were begun.
        device: where runs compute.
        threads: of each run.
    """

    def __init__(self, runs: Path, device: torch.device, threads: int) -> None:
        self._runs, self._device, self._threads = runs, device, threads
        self._paces: dict[str, Pace] = {}
        self._counts: dict[tuple[str, str, str], int] = {}
        self._areas: dict[tuple[str, int], int] = {}

    def seconds(self, configs: Sequence[RunConfig]) -> list[float]:
        """The time that each run still takes, alone on its threads."""
        kinds = {_kind(config): config for config in configs}
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads)
        try:
            with progress("timing a few steps", len(kinds), unit="methods") as advance:
                for kind, config in kinds.items():
                    self._paces[kind] = self._pace(config)
                    advance(1)
        finally:
            torch.set_num_threads(before)
        return [self._seconds(config, self._paces[_kind(config)]) for config in configs]

    def disk(self, configs: Sequence[RunConfig], width: int, *, keep: bool) -> int:
        """Bytes that runs need at most, whose :meth:`seconds` were estimated before.

        Args:
            configs: the runs.
            width: how many of them execute at a time.
            keep: whether finished runs keep their two checkpoints.
        """
        disks = [self._paces[_kind(config)].disk for config in configs]
        checkpoints = sorted((one.checkpoint for one in disks), reverse=True)
        executing = sum(checkpoints[:width])
        left = 2 * sum(checkpoints) + executing if keep else 3 * executing
        return sum(one.weights for one in disks) + left

    def _pace(self, config: RunConfig) -> Pace:
        size = config.identity.image_size
        batch = min(config.batch_size, max(PIXELS // size**2, 4))
        step = Step(config, self._device, batch)
        step.train()
        step.infer()
        return Pace(
            statistics.median(step.train() for _ in range(STEPS)) / batch,
            statistics.median(step.infer() for _ in range(STEPS)) / batch,
            step.disk(),
        )

    def _seconds(self, config: RunConfig, pace: Pace) -> float:
        benchmark = open_benchmark(config)
        left = config.epochs - self._epochs_done(config)
        train = sum(self._count(config, name, "train") for name in config.source)
        val = sum(self._count(config, name, "val") for name in config.source)
        targets = [name for name in benchmark.present() if name not in config.source]
        test = sum(self._count(config, name, "test") for name in targets)
        every = config.target_every
        measured = (left // every if every else 0) + 2  # at the end, and for the best weights
        validation = _limited(val, config.test_images)
        if config.shifted_validation:
            validation += len(FAMILIES) * min(validation, LIMIT)
        # What is measured may be larger than what is trained on: whole scenes, and crops of them.
        larger = self._area(config) / config.identity.image_size**2
        images = (left * validation + measured * test) * larger
        training = left * _limited(train, config.train_images)
        return training * pace.training + images * pace.inference

    def _epochs_done(self, config: RunConfig) -> int:
        """Lines of the metrics: how long a run takes is no reason to end over a damaged one."""
        try:
            return len((config.directory(self._runs) / METRICS).read_bytes().splitlines())
        except FileNotFoundError:
            return 0

    def _count(self, config: RunConfig, domain: str, split: str) -> int:
        """Images of a split; read from the labels, once."""
        key = (config.benchmark, domain, split)
        if key not in self._counts:
            benchmark = open_benchmark(config)
            if split == "test":
                parts = benchmark.domain(domain).counts()
                self._counts[key] = sum(parts.get("test") or parts.get("all") or ())
            else:
                self._counts[key] = len(benchmark.load(domain, split))  # type: ignore[arg-type]
        found = self._counts[key]
        return _limited(found, config.test_images) if split == "test" else found

    def _area(self, config: RunConfig) -> int:
        """Pixels of the source's first validation image, for which all that are measured stand."""
        key = (config.benchmark, config.identity.image_size)
        if key not in self._areas:
            first = open_benchmark(config).load(config.source[0], "val").batches(1)
            self._areas[key] = next(iter(first))[0][0, 0].numel()
        return self._areas[key]


def _kind(config: RunConfig) -> str:
    plain = config.to_mapping()
    names = ("benchmark", "method", "options", "network", "batch_size", "optimiser", "image_size")
    return json.dumps([plain[name] for name in (*names, "precision")], sort_keys=True)


def _limited(count: int, limit: int | None) -> int:
    return count if limit is None else min(count, limit)


def long_run_warning(config: RunConfig, execution: Execution) -> str | None:
    """A sentence about how long a run with all epochs of the benchmark takes here, if that is long.

    Measures a few steps; says nothing of runs with fewer epochs, of GPUs, nor if it is to be quiet.

    Args:
        config: the run.
        execution: where and how.
    """
    device = device_of(execution.accelerator)
    if (config.directory(execution.runs) / RESULT).exists():  # done: it needs no data any more
        return None
    recipe = open_benchmark(config).recipe
    usual = recipe.length(several_sources=len(config.source) > 1)
    if execution.quiet or device.type != "cpu" or config.epochs < usual:
        return None
    estimator = Estimator(execution.runs, device, torch.get_num_threads())
    (seconds,) = estimator.seconds([config])
    if seconds < LONG:
        return None
    whose = ", the benchmark's number," if config.epochs == usual else ""
    return (
        f"{config.epochs} epochs{whose} will take about {duration(seconds)} on this CPU; "
        "--epochs N trains fewer, and Ctrl-C saves what is done"
    )
