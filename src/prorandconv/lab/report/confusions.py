"""Confusion matrices: how many images of each class were taken for each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..tasks.contract import Evaluation
from .compare import Comparison


@dataclass(frozen=True)
class ConfusionMatrix:
    """What a method took the images of a target for, summed over seeds."""

    target: str
    metric: str
    """what the score is"""
    score: float
    class_metric: str
    """what the scores of the classes are"""
    per_class: tuple[float | None, ...]
    """None for a class that does not occur"""
    classes: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]
    """per cent of the images of a class (row) that were predicted as each class (column)"""


@dataclass(frozen=True)
class MethodConfusions:
    """The matrices of one method, one for each target."""

    title: str
    matrices: tuple[ConfusionMatrix, ...]


def confusions(comparison: Comparison) -> list[MethodConfusions]:
    """The matrices of every method that has a run done."""
    found = []
    for row in comparison.rows:
        matrices = tuple(
            _matrix(target, counts, comparison.classes)
            for target in comparison.targets
            if (counts := comparison.confusion(row, target)) is not None
        )
        if matrices:
            found.append(MethodConfusions(f"{row}: {comparison.title}", matrices))
    return found


def shares(counts: Evaluation) -> tuple[tuple[float, ...], ...]:
    """Per cent of each class's images (rows) that were predicted as each class (columns).

    Example:
        >>> from prorandconv.lab.tasks.classification import Accuracy
        >>> shares(Accuracy(((3, 1), (0, 0))))
        ((75.0, 25.0), (0.0, 0.0))
    """
    plain = np.array(counts.confusion, dtype=np.float64)
    found = 100 * plain / np.maximum(plain.sum(1, keepdims=True), 1)
    return tuple(map(tuple, found.tolist()))


def _matrix(target: str, counts: Evaluation, classes: tuple[str, ...]) -> ConfusionMatrix:
    size = len(counts.confusion)
    names = classes if len(classes) == size else tuple(map(str, range(size)))
    return ConfusionMatrix(
        target,
        counts.title,
        counts.score,
        counts.class_title,
        counts.per_class,
        names,
        shares(counts),
    )
