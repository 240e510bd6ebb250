"""How long runs will take, from a few steps of each kind."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ..data.shifts import FAMILIES, LIMIT
from ..progress import progress
from ..run.config import Execution, RunConfig
from ..run.data import open_benchmark
from ..run.directory import METRICS, RESULT
from ..run.display import duration
from ..run.environment import device_of
from .cost import Step

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


class Estimator:
    """Times each method and network once.

    Args:
        runs: folder of all runs, to see how far those are that were begun.
        device: where runs compute.
        threads: of each run.
    """

    def __init__(self, runs: Path, device: torch.device, threads: int) -> None:
        self._runs, self._device, self._threads = runs, device, threads
        self._counts: dict[tuple[str, str, str], int] = {}
        self._areas: dict[tuple[str, int], int] = {}

    def seconds(self, configs: Sequence[RunConfig]) -> list[float]:
        """The time that each run still takes, alone on its threads."""
        kinds = {_kind(config): config for config in configs}
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads)
        try:
            paces: dict[str, Pace] = {}
            with progress("timing a few steps", len(kinds), unit="methods") as advance:
                for kind, config in kinds.items():
                    paces[kind] = self._pace(config)
                    advance(1)
        finally:
            torch.set_num_threads(before)
        return [self._seconds(config, paces[_kind(config)]) for config in configs]

    def _pace(self, config: RunConfig) -> Pace:
        size = config.identity.image_size
        batch = min(config.batch_size, max(PIXELS // size**2, 4))
        step = Step(config, self._device, batch)
        step.train()
        step.infer()
        return Pace(
            statistics.median(step.train() for _ in range(STEPS)) / batch,
            statistics.median(step.infer() for _ in range(STEPS)) / batch,
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
