"""What a training step of a run costs, on the device at hand."""

from __future__ import annotations

import time

import torch

from ..run.config import RunConfig
from ..run.data import learner_of, network_of
from ..run.distributed import Ranks
from ..run.environment import autocast, deterministic
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
                (self.images, self.labels),
                self.generator,
                self.ranks,
                self.config.precision,
            )
            return self._now() - began

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
