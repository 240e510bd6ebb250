"""Two methods on the same images and seeds: differences, and how sure they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from scipy.special import ndtri
from torch import Tensor

from ...errors import ProRandConvError
from ..study.table import CONFIDENCE, Estimate

Interval = tuple[float, float]


@dataclass(frozen=True)
class Judged:
    """Which images of a target a method's networks got right."""

    right: Tensor
    """booleans (seeds, images)"""
    labels: Tensor
    """the images' classes"""


@dataclass(frozen=True)
class Difference:
    """Accuracies of two methods in %, and by how much the second is better."""

    name: str
    """a target, a class, or "average" over the targets"""
    images: int
    first: float
    second: float
    by_image: Interval
    """95 % interval of the difference over images like these, with these networks"""
    by_seed: tuple[float, ...]
    """the difference of each seed"""
    seed_interval: Interval | None
    """95 % interval of their mean by Student's t; None below three seeds"""

    @property
    def difference(self) -> float:
        """The second less the first, in points."""
        return self.second - self.first


def by_target(
    first: Mapping[str, Judged], second: Mapping[str, Judged], averaged: Sequence[str]
) -> list[Difference]:
    """The difference on each target, and on their average.

    Args:
        first: the one method, by target.
        second: the other, on the same images and seeds.
        averaged: targets of the average.
    """
    rows = [_difference(name, [(first[name], second[name])]) for name in first]
    if len(averaged) > 1:
        rows.append(_difference("average", [(first[name], second[name]) for name in averaged]))
    return rows


def by_class(
    first: Mapping[str, Judged], second: Mapping[str, Judged], classes: Sequence[str]
) -> list[Difference]:
    """The difference on each class that has images, over all targets together.

    Args:
        first: the one method, by target.
        second: the other, on the same images and seeds.
        classes: their names.
    """
    own, other = _joined(first), _joined(second)
    rows = []
    for index, name in enumerate(classes):
        chosen = own.labels == index
        if chosen.any():
            pair = tuple(Judged(j.right[:, chosen], j.labels[chosen]) for j in (own, other))
            rows.append(_difference(name, [(pair[0], pair[1])]))
    return rows


def _joined(judged: Mapping[str, Judged]) -> Judged:
    sets = list(judged.values())
    return Judged(torch.cat([j.right for j in sets], 1), torch.cat([j.labels for j in sets]))


def _difference(name: str, pairs: Sequence[tuple[Judged, Judged]]) -> Difference:
    """The mean over sets of images, each counting the same."""
    for one, other in pairs:
        if one.right.shape != other.right.shape:
            raise ProRandConvError.about(
                name, tuple(other.right.shape), f"(seeds, images) {tuple(one.right.shape)}"
            )
    firsts = torch.stack([one.right.double().mean(1) for one, _ in pairs]).mean(0)
    seconds = torch.stack([other.right.double().mean(1) for _, other in pairs]).mean(0)
    seeds = tuple((100 * (seconds - firsts)).tolist())
    return Difference(
        name,
        sum(len(one.labels) for one, _ in pairs),
        100 * float(firsts.mean()),
        100 * float(seconds.mean()),
        _image_interval(pairs),
        seeds,
        Estimate.of(seeds).interval,  # type: ignore[union-attr]
    )


def _image_interval(pairs: Sequence[tuple[Judged, Judged]]) -> Interval:
    """Bonett and Price's interval of the difference of two paired proportions.

    It is the normal one with two more images, one that only the first method gets right and one
    that only the second does, which keeps its coverage where methods hardly differ. With several
    seeds, an image's difference is the mean over them.
    """
    means, variances = [], []
    for one, other in pairs:
        gains = (other.right.double() - one.right.double()).mean(0)
        gains = torch.cat([gains, gains.new_tensor([1.0, -1.0])])
        means.append(float(gains.mean()))
        variances.append(float(gains.var(correction=0)) / len(gains))
    mean = statistics.fmean(means)
    half = float(ndtri((1 + CONFIDENCE) / 2)) * math.sqrt(sum(variances)) / len(pairs)
    return 100 * max(mean - half, -1.0), 100 * min(mean + half, 1.0)
