"""Averages of the weights over the steps of a run, which are evaluated in place of the weights."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from ..data.samples import Batch
from ..methods.learner import Learner
from .config import RunConfig
from .environment import autocast
from .evaluation import copied

DECAY = 0.999
"""What a step leaves of the exponential moving average."""
STATISTICS_BATCHES = 30
"""Mini-batches that the statistics of batch normalisation are taken from."""


class WeightAverage:
    """The average of a run's weights; without one, nothing here does anything.

    ``ema`` is the exponential moving average over all steps. Its decay rises to ``DECAY``, so that
    the first weights are soon forgotten. ``swad`` is the plain mean over the steps of the second
    half of the run so far; before that half, the weights themselves are evaluated.

    Not torch's ``AveragedModel``: it reads its count of steps from the device in each step.
    """

    def __init__(self, config: RunConfig, learner: Learner) -> None:
        self._config, self._learner = config, learner
        self._begin = config.epochs // 2 if config.average == "swad" else 0
        self.count = 0
        """steps that were added"""
        self.weights: dict[str, Tensor] = {}
        self.evaluated: dict[str, Tensor] = {}
        """all of the network's state as it was evaluated last"""

    def update(self, epoch: int) -> None:
        """Add the weights after a step of an epoch, counted from 0."""
        if self._config.average == "none" or epoch < self._begin:
            return
        self.count += 1
        share = 1 / self.count
        if self._config.average == "ema":
            share = max(1 - DECAY, 10 / (9 + self.count))
        for name, own in self._learner.network.named_parameters():
            if self.count == 1:
                self.weights[name] = own.detach().clone()
            else:
                self.weights[name].lerp_(own.detach(), share)

    @contextmanager
    def applied(self, batches: Iterable[Batch]) -> Iterator[None]:
        """Give the network the average weights for a while; all processes have to call it.

        Statistics of batch normalisation belong to weights: those of the average are taken anew,
        from what the method shows the network.
        """
        if not self.weights:
            yield
            return
        learner = self._learner
        own = copy.deepcopy(learner.state_dict())
        try:
            learner.network.load_state_dict(self.weights, strict=False)
            self._renew_statistics(batches)
            self.evaluated = copied(learner.network.state_dict())
            yield
        finally:
            learner.load_state_dict(own)

    def _renew_statistics(self, batches: Iterable[Batch]) -> None:
        norms = [one for one in self._learner.network.modules() if isinstance(one, _BatchNorm)]
        momenta = [one.momentum for one in norms]
        if not norms:
            return
        for one in norms:
            one.reset_running_stats()
            one.momentum = None  # the mean over all mini-batches
        self._learner.train()
        generator = torch.Generator().manual_seed(0)
        cuda = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        with torch.random.fork_rng(devices=cuda):
            torch.manual_seed(0)
            for batch in islice(batches, STATISTICS_BATCHES):
                with autocast(batch.images.device, self._config.precision):
                    next(self._learner.step(batch, generator))
        for one, momentum in zip(norms, momenta, strict=True):
            one.momentum = momentum

    def state_dict(self) -> dict[str, Any]:
        """Its part of a checkpoint."""
        return {
            "count": self.count,
            "weights": copied(self.weights),
            "evaluated": dict(self.evaluated),
        }

    def load_state_dict(self, stored: Mapping[str, Any]) -> None:
        """Go back to a stored state."""
        device = next(self._learner.network.parameters()).device
        self.count = stored["count"]
        self.weights = {name: one.to(device) for name, one in stored["weights"].items()}
        self.evaluated = stored["evaluated"]
