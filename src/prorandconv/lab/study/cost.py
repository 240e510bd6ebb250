"""What a training step of a run costs, on the device at hand."""

from __future__ import annotations

import time

import torch

from ..data import get_benchmark
from ..data.images import InMemoryImages
from ..methods.learner import Task
from ..models import build
from ..run.config import RunConfig
from ..run.environment import deterministic
from ..run.optimisation import learn, optimiser_maker
from ..run.ranks import Ranks


class Step:
    """Steps of a run's method and network on noise: what they cost does not depend on the images.

    Args:
        config: the run.
        device: where to compute.
        batch: images of a mini-batch, where it is not to be the run's.
    """

    def __init__(self, config: RunConfig, device: torch.device, batch: int | None = None) -> None:
        benchmark = get_benchmark(config.benchmark, config.data_root)
        size, classes = benchmark.image_size, len(benchmark.classes)
        count = batch or config.batch_size
        self.config, self.device = config, device
        self.generator = torch.Generator().manual_seed(0)
        self.images = (torch.rand(count, 3, size, size, generator=self.generator) * 2 - 1).to(
            device
        )
        self.labels = (torch.arange(count) % classes).to(device)
        network = build(config.network, classes=classes, image_size=size)
        source = InMemoryImages(
            torch.zeros(1, 3, size, size, dtype=torch.uint8),
            torch.zeros(1, dtype=torch.int64),
            classes=benchmark.classes,
            split="train",
            format=benchmark.format,
        )
        task = Task(benchmark.format, classes, config.epochs, 1, source, lambda tensor: tensor)
        learner = config.options.learner(config.options.adapt(network, classes), task)
        self.learner = learner.to(device).to(memory_format=torch.channels_last)
        self.ranks = Ranks(device)
        self.network = self.learner.network
        self.optimisers = self.learner.optimisers(optimiser_maker(config))

    def train(self) -> float:
        """Train one step; returns its seconds."""
        self.learner.train()
        with deterministic(self.config.deterministic):
            began = self._now()
            batch = self.images, self.labels
            learn(self.learner, self.optimisers, batch, self.generator, self.ranks)
            return self._now() - began

    def infer(self) -> float:
        """Classify the mini-batch once; returns the seconds."""
        self.network.eval()
        with torch.inference_mode():
            began = self._now()
            self.network(self.images)
            return self._now() - began

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()
