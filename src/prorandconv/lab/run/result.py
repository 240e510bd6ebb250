"""What a run has found: gathered while it runs, and put together at its end."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from torch import nn

from ..models import macs
from ..tasks import Evaluation, get_task
from .config import RunConfig
from .data import RunData
from .evaluation import Measured
from .stored import CHOICES, Result, validation_score


@dataclass
class RunState:
    """How far a run is, and what it has found so far; plain values, stored in ``state.pt``."""

    epoch: int = 0
    """epochs that are done, evaluation included"""
    step: int = 0
    """steps done of the epoch under way"""
    loss_sum: float = 0.0
    """of the images seen in the epoch under way"""
    images_seen: int = 0
    """in the epoch under way"""
    history: list[dict[str, Any]] = field(default_factory=list)
    """the lines of metrics.jsonl"""
    best: dict[str, Any] = field(default_factory=dict)
    """epoch and score of the weights that are best on validation"""
    best_shifted: dict[str, Any] = field(default_factory=dict)
    """the same for shifted validation; empty if the run does without"""
    last: dict[str, Any] = field(default_factory=dict)
    """targets as they were measured last, in full"""
    oracle: dict[str, Any] = field(default_factory=dict)
    """targets when their average was best, in full"""

    def end_epoch(self, measured: Measured, learning_rate: float) -> dict[str, Any]:
        """Take in what an epoch has given; returns its line of metrics.

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

    def chosen_epochs(self) -> dict[str, int]:
        """The epochs whose weights may count, by their name in result.json."""
        found = {"best_validation": self.best["epoch"], "last": self.epoch}
        return found | ({"best_shifted": self.best_shifted["epoch"]} if self.best_shifted else {})

    def figures(
        self,
        metric: str,
        averaged: Sequence[str],
        earlier: Mapping[int, Mapping[str, Evaluation]],
    ) -> Result:
        """The choices of weights: best validation, plain and shifted, last, and best target.

        The last one looks at what nobody knows beforehand: hence its mark. It is the best of all
        epochs whose targets were measured, those of the other choices among them.

        Args:
            metric: the name of the run's score.
            averaged: targets of the paper's average.
            earlier: the targets, measured with the chosen weights of epochs before the last one.
        """
        score = validation_score(metric)

        def of(epoch: int, targets: Mapping[str, Any]) -> dict[str, Any]:
            own = [targets[name][metric] for name in averaged]
            line = self.history[epoch - 1]
            return {
                "epoch": epoch,
                score: line[score],
                **({"val_shifted": line["val_shifted"]} if "val_shifted" in line else {}),
                "average": sum(own) / len(own) if own else None,
                "targets": dict(targets),
            }

        measured = {self.epoch: self.last["targets"]} | {
            epoch: {name: one.to_mapping() for name, one in targets.items()}
            for epoch, targets in earlier.items()
        }
        found = {name: of(epoch, measured[epoch]) for name, epoch in self.chosen_epochs().items()}
        if not self.oracle:
            return found | {"oracle": {}}
        known = [of(self.oracle["epoch"], self.oracle["targets"]), *found.values()]
        return found | {"oracle": {"oracle": True} | max(known, key=itemgetter("average"))}


def put_together(
    config: RunConfig,
    data: RunData,
    network: nn.Module,
    state: RunState,
    earlier: Mapping[int, Mapping[str, Evaluation]],
) -> Result:
    """The result of a run that has come to its end.

    Args:
        config: the run.
        data: its images.
        network: what was trained.
        state: what was found on the way.
        earlier: see :meth:`RunState.figures`.
    """
    metric = get_task(config.task).evaluation.metric
    return {
        "config": config.to_mapping(),
        "hash": config.hash,
        "classes": list(config.identity.classes),
        "averaged": list(data.targets.averaged),
        "absent": list(data.targets.absent),
        "selected": CHOICES[config.select],
        **state.figures(metric, data.targets.averaged, earlier),
        "images": {"train": len(data.training), "val": len(data.validation)},
        "data": data.fingerprints,
        "parameters": sum(p.numel() for p in network.parameters()),
        "macs": macs(network, config.identity.image_size),
    }
