"""What a run has found: gathered while it runs, and put together at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .evaluation import Evaluation, Measured

Result = dict[str, Any]
"""The content of result.json."""


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
    """epoch and validation accuracy of the selected weights"""
    last: dict[str, Any] = field(default_factory=dict)
    """targets as they were measured last, in full"""
    oracle: dict[str, Any] = field(default_factory=dict)
    """targets when their average was best, in full"""

    def end_epoch(self, measured: Measured, learning_rate: float) -> dict[str, Any]:
        """Take in what an epoch has given; returns its line of metrics.

        Of epochs with the same validation accuracy, the first is selected.
        """
        self.epoch += 1
        line: dict[str, Any] = {
            "epoch": self.epoch,
            "learning_rate": learning_rate,
            "train_loss": self.loss_sum / self.images_seen,
            "images": self.images_seen,
            "val_accuracy": measured.validation.accuracy,
        }
        if measured.targets is not None:
            line["targets"] = {name: one.accuracy for name, one in measured.targets.items()}
            line["average"] = measured.average
            full = {name: one.to_mapping() for name, one in measured.targets.items()}
            self.last = {"epoch": self.epoch, "targets": full}
            if measured.average is not None and measured.average > self.oracle.get("average", -1.0):
                self.oracle = {"epoch": self.epoch, "average": measured.average, "targets": full}
        if line["val_accuracy"] > self.best.get("val_accuracy", -1.0):
            self.best = {"epoch": self.epoch, "val_accuracy": line["val_accuracy"]}
        self.history.append(line)
        self.step, self.loss_sum, self.images_seen = 0, 0.0, 0
        return line

    def figures(self, averaged: Sequence[str], selected: Mapping[str, Evaluation] | None) -> Result:
        """The three choices of weights: best validation, last, and best target.

        The last one looks at what nobody knows beforehand: hence its mark.

        Args:
            averaged: targets of the paper's average.
            selected: the targets, measured with the best-validation weights; None if these are the
                last ones.
        """

        def of(epoch: int, targets: Mapping[str, Any]) -> dict[str, Any]:
            own = [targets[name]["accuracy"] for name in averaged]
            return {
                "epoch": epoch,
                "val_accuracy": self.history[epoch - 1]["val_accuracy"],
                "average": sum(own) / len(own) if own else None,
                "targets": dict(targets),
            }

        last, oracle = self.last["targets"], self.oracle
        chosen = {name: one.to_mapping() for name, one in selected.items()} if selected else last
        return {
            "best_validation": of(self.best["epoch"], chosen),
            "last": of(self.epoch, last),
            "oracle": {"oracle": True} | of(oracle["epoch"], oracle["targets"]) if oracle else {},
        }
