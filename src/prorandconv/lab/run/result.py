"""What a run has found: gathered while it runs, and put together at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .evaluation import Evaluation

Result = dict[str, Any]
"""The content of result.json."""


@dataclass
class Position:
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

    def end_epoch(self, line: dict[str, Any], measured: Mapping[str, Evaluation]) -> bool:
        """Take in what an epoch has given; True if its weights are the best so far.

        Of epochs with the same validation accuracy, the first is selected.
        """
        if measured:
            full = {name: found.to_mapping() for name, found in measured.items()}
            self.last = {"epoch": line["epoch"], "targets": full}
            if line["average"] is not None and line["average"] > self.oracle.get("average", -1.0):
                self.oracle = {"epoch": line["epoch"], "average": line["average"], "targets": full}
        better = bool(line["val_accuracy"] > self.best.get("val_accuracy", -1.0))
        if better:
            self.best = {"epoch": line["epoch"], "val_accuracy": line["val_accuracy"]}
        self.history.append(line)
        self.epoch, self.step, self.loss_sum, self.images_seen = line["epoch"], 0, 0.0, 0
        return better

    def figures(self, averaged: Sequence[str], selected: Mapping[str, Any]) -> Result:
        """The three choices of weights: best validation, last, and best target.

        The last one looks at what nobody knows beforehand: hence its mark.

        Args:
            averaged: targets of the paper's average.
            selected: the targets, measured with the best-validation weights.
        """

        def of(epoch: int, targets: Mapping[str, Any]) -> dict[str, Any]:
            own = [targets[name]["accuracy"] for name in averaged]
            return {
                "epoch": epoch,
                "val_accuracy": self.history[epoch - 1]["val_accuracy"],
                "average": sum(own) / len(own) if own else None,
                "targets": dict(targets),
            }

        oracle = self.oracle
        return {
            "best_validation": of(self.best["epoch"], selected),
            "last": of(self.epoch, self.last["targets"]),
            "oracle": {"oracle": True} | of(oracle["epoch"], oracle["targets"]) if oracle else {},
        }
