"""The state of a run, which is its checkpoint."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from ..data.samples import Batch
from ..files import digest
from ..methods.learner import Learner
from ..tasks import Evaluation
from .config import RunConfig
from .distributed import Ranks
from .environment import autocast
from .evaluation import EpochMetrics, copied
from .optimisation import optimiser_maker
from .stored import CHOICES, Result, validation_score

Weights = Mapping[str, Tensor]
Stored = dict[str, Any]
"""The content of a checkpoint."""


@dataclass
class Progress:
    """How far a run is, and what it has measured; JSON values."""

    epoch: int = 0
    """epochs that are done, evaluation included"""
    step: int = 0
    """steps done of the current epoch"""
    loss_sum: float = 0.0
    """of the images seen in the current epoch"""
    images_seen: int = 0
    """in the current epoch"""
    history: list[dict[str, Any]] = field(default_factory=list)
    """the lines of metrics.jsonl"""
    best: dict[str, Any] = field(default_factory=dict)
    """epoch and score of the weights that are best on validation"""
    best_shifted: dict[str, Any] = field(default_factory=dict)
    """the same for shifted validation; empty without it"""
    last: dict[str, Any] = field(default_factory=dict)
    """targets as they were measured last, in full"""
    oracle: dict[str, Any] = field(default_factory=dict)
    """targets when their average was best, in full"""

    def end_epoch(self, measured: EpochMetrics, learning_rate: float) -> dict[str, Any]:
        """Add what was measured at the end of an epoch; returns its line of metrics.

        Of epochs with the same score, the first is the best.
        """
        self.epoch += 1
        score = validation_score(measured.validation.metric)
        line: dict[str, Any] = {
            "epoch": self.epoch,
            "learning_rate": learning_rate,
            "train_loss": self.loss_sum / self.images_seen,
            "images": self.images_seen,
            score: measured.validation.score,
        }
        if measured.shifted:
            line["shifted"] = dict(measured.shifted)
            line["val_shifted"] = statistics.fmean(measured.shifted.values())
            if line["val_shifted"] > self.best_shifted.get("val_shifted", -1.0):
                self.best_shifted = {"epoch": self.epoch, "val_shifted": line["val_shifted"]}
        if measured.targets is not None:
            line["targets"] = {name: one.score for name, one in measured.targets.items()}
            line["average"] = measured.average
            full = {name: one.to_mapping() for name, one in measured.targets.items()}
            self.last = {"epoch": self.epoch, "targets": full}
            if measured.average is not None and measured.average > self.oracle.get("average", -1.0):
                self.oracle = {"epoch": self.epoch, "average": measured.average, "targets": full}
        if line[score] > self.best.get(score, -1.0):
            self.best = {"epoch": self.epoch, score: line[score]}
        self.history.append(line)
        self.step, self.loss_sum, self.images_seen = 0, 0.0, 0
        return line

    def selected_epochs(self) -> dict[str, int]:
        """The epochs whose weights may be selected, by their name in result.json."""
        epochs = {"best_validation": self.best["epoch"], "last": self.epoch}
        return epochs | ({"best_shifted": self.best_shifted["epoch"]} if self.best_shifted else {})

    def figures(
        self,
        metric: str,
        averaged: Sequence[str],
        earlier: Mapping[int, Mapping[str, Evaluation]],
    ) -> Result:
        """What was measured with each selection of weights, as in result.json.

        The oracle is the epoch of the best targets, among all epochs whose targets were measured:
        nobody knows it beforehand, hence its mark.

        Args:
            metric: the name of the run's score.
            averaged: targets of the paper's average.
            earlier: the targets, measured with the selected weights of epochs before the last one.
        """
        score = validation_score(metric)

        def of(epoch: int, targets: Mapping[str, Any]) -> dict[str, Any]:
            scores = [targets[name][metric] for name in averaged]
            line = self.history[epoch - 1]
            return {
                "epoch": epoch,
                score: line[score],
                **({"val_shifted": line["val_shifted"]} if "val_shifted" in line else {}),
                "average": sum(scores) / len(scores) if scores else None,
                "targets": dict(targets),
            }

        measured = {self.epoch: self.last["targets"]} | {
            epoch: {name: one.to_mapping() for name, one in targets.items()}
            for epoch, targets in earlier.items()
        }
        found = {name: of(epoch, measured[epoch]) for name, epoch in self.selected_epochs().items()}
        if not self.oracle:
            return found | {"oracle": {}}
        known = [of(self.oracle["epoch"], self.oracle["targets"]), *found.values()]
        return found | {"oracle": {"oracle": True} | max(known, key=itemgetter("average"))}


class RunState:
    """Everything that changes in a run; its ``state_dict`` is the checkpoint.

    Three generators: the order of the images, which is the same in all processes; the augmentation,
    with draws of its own in each process; and torch's own, for the network.
    """

    def __init__(self, config: RunConfig, learner: Learner, ranks: Ranks) -> None:
        self._ranks, self._choice = ranks, CHOICES[config.select]
        self.progress = Progress()
        self.learner = learner
        self.optimisers: dict[str, Optimizer] = learner.optimisers(optimiser_maker(config))
        self.average = WeightAverage(config, learner)
        torch.manual_seed(derive_seed(config.seed, "network", ranks.own))
        self.order = torch.Generator().manual_seed(derive_seed(config.seed, "order", 0))
        augmentation = derive_seed(config.seed, "augmentation", ranks.own)
        self.augmentation = torch.Generator().manual_seed(augmentation)
        self.epoch_order = self.order.get_state()
        """the order's generator at the beginning of the current epoch"""
        self.kept: dict[int, Weights] = {}
        """weights of epochs that may still be selected; only the first process has any"""

    def rewound_order(self) -> torch.Generator:
        """The order's generator, as it was at the beginning of the current epoch."""
        self.order.set_state(self.epoch_order)
        return self.order

    def generators(self) -> list[Tensor]:
        """The states of the generators that differ from process to process."""
        states = [self.augmentation.get_state(), torch.get_rng_state()]
        device = self._ranks.device
        return states + ([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])

    def end_epoch(self, measured: EpochMetrics, learning_rate: float) -> dict[str, Any]:
        """Add what was measured, and keep the weights if they may be selected; returns the line.

        The last weights are in the network: they are kept only if they are selected.
        """
        line = self.progress.end_epoch(measured, learning_rate)
        self.epoch_order = self.order.get_state()
        if self._ranks.first:
            epochs = self.progress.selected_epochs()
            wanted = {e for name, e in epochs.items() if name != "last"} | {self.best_epoch}
            self.kept = {epoch: one for epoch, one in self.kept.items() if epoch in wanted}
            if self.progress.epoch in wanted:
                self.kept[self.progress.epoch] = copied(self.learner.network.state_dict())
        return line

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights are selected, so far."""
        return self.progress.selected_epochs()[self._choice]

    @property
    def best(self) -> Weights:
        """The weights that are selected, so far; none before the first epoch has ended."""
        return self.kept[self.best_epoch] if self.kept else {}

    def state_dict(self) -> Stored:
        """The checkpoint. All processes have to call it, and the first one's is complete."""
        others = {
            e: dict(one) for e, one in self.kept.items() if self.kept and e != self.best_epoch
        }
        return {
            "run": asdict(self.progress),
            "learner": self.learner.state_dict(),
            "optimisers": self._optimisers(),
            "average": self.average.state_dict(),
            "best": dict(self.best),
            "others": others,
            "order": self.epoch_order,
            "generators": self._ranks.all_gather(self.generators()),
        }

    def load_state_dict(self, stored: Stored) -> None:
        """Go to where a checkpoint was written.

        Checkpoints of before there were averages and choices of weights have none.
        """
        self.progress = Progress(**stored["run"])
        self.learner.load_state_dict(stored["learner"])
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(stored["optimisers"][name])
        if "average" in stored:
            self.average.load_state_dict(stored["average"])
        self.epoch_order = stored["order"]
        states = stored["generators"][self._ranks.own]
        self.augmentation.set_state(states[0])
        torch.set_rng_state(states[1])
        if len(states) > 2 and self._ranks.device.type == "cuda":
            torch.cuda.set_rng_state(states[2], self._ranks.device)
        self.kept = {}
        if self._ranks.first and stored["best"]:
            self.kept = {self.best_epoch: stored["best"], **stored.get("others", {})}

    def check(self, stored: Stored) -> None:
        """Raise ValueError if a checkpoint is not one of this run; nothing is changed."""
        Progress(**stored["run"])
        expected = _shapes(self.learner.state_dict()), _sizes(self._optimisers())
        if (_shapes(stored["learner"]), _sizes(stored["optimisers"])) != expected:
            raise ValueError("other weights than this run trains")
        if len(stored["generators"]) != self._ranks.count:
            raise ValueError(f"of {len(stored['generators'])} processes")

    def _optimisers(self) -> Stored:
        return {name: optimiser.state_dict() for name, optimiser in self.optimisers.items()}


def derive_seed(seed: int, purpose: str, rank: int) -> int:
    """A seed for each purpose and rank: equal seeds would give equal numbers."""
    start = bytes.fromhex(digest(f"{seed} {purpose} {rank}"))[:4]
    return int.from_bytes(start, "little")


def not_finite(network: nn.Module) -> list[str]:
    """Names of parameters that are not finite."""
    return [name for name, one in network.named_parameters() if not torch.isfinite(one).all()]


def _shapes(state: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(one.shape) for name, one in state.items() if isinstance(one, Tensor)}


def _sizes(optimisers: Mapping[str, Any]) -> dict[str, list[int]]:
    return {
        name: [len(group["params"]) for group in one["param_groups"]]
        for name, one in optimisers.items()
    }


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
