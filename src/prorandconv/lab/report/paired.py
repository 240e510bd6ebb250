"""Two methods on the same images and seeds: differences, and how sure they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from scipy.special import ndtri
from torch import Tensor

from ...errors import ProRandConvError
from ..data import Samples
from ..data.images import labelled
from ..progress import progress
from ..run.directory import RESULT
from ..run.evaluation import Targets, classified, confusions
from ..run.stored import read_result
from ..run.trained import Trained, load_trained
from ..study.table import CONFIDENCE, Estimate
from .compare import label

Interval = tuple[float, float]
DRAWS = 1000
"""Of the bootstrap over scenes."""


@dataclass(frozen=True)
class Judged:
    """Which images of a target a method's networks classified correctly."""

    right: Tensor
    """booleans (seeds, images)"""
    labels: Tensor
    """the images' classes"""

    @property
    def images(self) -> int:
        """How many images there are."""
        return len(self.labels)

    def scores(self) -> Tensor:
        """The accuracy of each seed in %, (seeds)."""
        return 100 * self.right.double().mean(1)

    def of_class(self, index: int) -> Judged | None:
        """The images of a class; None if there is none."""
        chosen = self.labels == index
        return Judged(self.right[:, chosen], self.labels[chosen]) if chosen.any() else None

    @classmethod
    def over_seeds(cls, parts: Sequence[Judged]) -> Judged:
        """The same images by several seeds."""
        return cls(torch.cat([one.right for one in parts]), parts[0].labels)

    @classmethod
    def over_images(cls, parts: Sequence[Judged]) -> Judged:
        """Several sets of images by the same seeds."""
        labels = torch.cat([one.labels for one in parts])
        return cls(torch.cat([one.right for one in parts], 1), labels)


@dataclass(frozen=True)
class Overlaps:
    """Confusion counts of each scene of a target; scores are mIoU, or IoU of one class."""

    counts: Tensor
    """(seeds, scenes, classes, classes)"""
    index: int | None = None
    """the class; None: all that occur"""

    @property
    def images(self) -> int:
        """How many scenes there are."""
        return self.counts.shape[1]

    def scores(self, weights: Tensor | None = None) -> Tensor:
        """The score of each seed in %, (seeds), over all scenes together.

        Args:
            weights: how often each scene counts, (draws, scenes); the scores are (draws, seeds).
        """
        if weights is None:
            total = self.counts.double().sum(1)
        else:
            total = torch.einsum("bn,snij->bsij", weights.double(), self.counts.double())
        rows, inside = total.sum(-1), total.diagonal(dim1=-2, dim2=-1)
        overlap = 100 * inside / (rows + total.sum(-2) - inside).clamp(min=1)
        if self.index is not None:
            return overlap[..., self.index]
        occurs = rows > 0
        return (overlap * occurs).sum(-1) / occurs.sum(-1).clamp(min=1)

    def of_class(self, index: int) -> Overlaps | None:
        """The same counts, by the IoU of a class; None if it does not occur."""
        return Overlaps(self.counts, index) if self.counts[:, :, index].any() else None

    @classmethod
    def over_seeds(cls, parts: Sequence[Overlaps]) -> Overlaps:
        """The same scenes by several seeds."""
        return cls(torch.cat([one.counts for one in parts]))

    @classmethod
    def over_images(cls, parts: Sequence[Overlaps]) -> Overlaps:
        """Several sets of scenes by the same seeds."""
        return cls(torch.cat([one.counts for one in parts], 1))


Measured = Any
"""Judged or Overlaps, the same for all that is compared."""


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
    first: Mapping[str, Measured], second: Mapping[str, Measured], averaged: Sequence[str]
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
    first: Mapping[str, Measured], second: Mapping[str, Measured], classes: Sequence[str]
) -> list[Difference]:
    """The difference on each class that has images, over all targets together.

    Args:
        first: the one method, by target.
        second: the other, on the same images and seeds.
        classes: their names.
    """
    sets = [list(first.values()), list(second.values())]
    own, other = (type(one[0]).over_images(one) for one in sets)
    rows = []
    for index, name in enumerate(classes):
        pair = own.of_class(index), other.of_class(index)
        if pair[0] is not None and pair[1] is not None:
            rows.append(_difference(name, [(pair[0], pair[1])]))
    return rows


def _difference(name: str, pairs: Sequence[tuple[Measured, Measured]]) -> Difference:
    """The mean over sets of images, each counting the same."""
    for one, other in pairs:
        own, got = ((len(each.scores()), each.images) for each in (one, other))
        if own != got:
            raise ProRandConvError.about(name, got, f"(seeds, images) {own}")
    firsts = torch.stack([one.scores() for one, _ in pairs]).mean(0)
    seconds = torch.stack([other.scores() for _, other in pairs]).mean(0)
    seeds = tuple((seconds - firsts).tolist())
    interval = _image_interval if isinstance(pairs[0][0], Judged) else _scene_interval
    return Difference(
        name,
        sum(one.images for one, _ in pairs),
        float(firsts.mean()),
        float(seconds.mean()),
        interval(pairs),
        seeds,
        Estimate.of(seeds).interval,  # type: ignore[union-attr]
    )


def _scene_interval(pairs: Sequence[tuple[Overlaps, Overlaps]]) -> Interval:
    """Bootstrap interval (percentiles) of the difference over other scenes of the same kind."""
    generator = torch.Generator().manual_seed(0)
    differences = torch.zeros(DRAWS, dtype=torch.float64)
    for one, other in pairs:
        drawn = torch.randint(one.images, (DRAWS, one.images), generator=generator)
        weights = torch.zeros(DRAWS, one.images, dtype=torch.float64)
        weights.scatter_add_(1, drawn, torch.ones_like(weights))
        gains = other.scores(weights) - one.scores(weights)
        differences += gains.mean(1) / len(pairs)
    tail = (1 - CONFIDENCE) / 2
    low, high = torch.quantile(differences, torch.tensor([tail, 1 - tail]).double()).tolist()
    return low, high


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


SHARED = ("benchmark", "test_images", "data")
"""Fields in which runs must agree: all are asked about the same images and classes."""
FREE = ("method", "options", "seed", "data_root", "target_every")
"""Fields that are in a group's name anyway, or that change no result."""


@dataclass(frozen=True)
class PairedComparison:
    """One group of runs against another."""

    first: str
    second: str
    seeds: tuple[tuple[int, int], ...]
    """seeds of the pairs: of the first and of the second"""
    targets: tuple[Difference, ...]
    classes: tuple[Difference, ...]
    notes: tuple[str, ...]
    score: str = "accuracy"
    """what the figures are, for people"""

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed, and what they got right."""

    name: str
    judged: Mapping[int, Mapping[str, Measured]]
    """by seed and target"""

    def stacked(self, seeds: Sequence[int]) -> dict[str, Measured]:
        """What these seeds found, by target."""
        return {
            name: type(one).over_seeds([self.judged[seed][name] for seed in seeds])
            for name, one in self.judged[seeds[0]].items()
        }


def compare_runs(
    runs: Sequence[Path], load: Callable[[Path], Trained] = load_trained
) -> list[PairedComparison]:
    """Compare the first run, and those like it but for the seed, with each other group of runs.

    All networks classify the images of all common targets again: a result has counts, and pairs
    need images.

    Args:
        runs: directories, two or more.
        load: gives the network of one, such as its last instead of its selected weights.
    """
    if len({run.resolve() for run in runs}) < max(len(runs), 2):
        expected = "two different runs or more, each once"
        raise ProRandConvError.about("runs", [str(run) for run in runs], expected)
    loaded = [load(run) for run in runs]
    _refuse_incomparable(runs, loaded)
    first = loaded[0]
    sources = tuple({name for one in loaded for name in one.config.source})
    targets = Targets(first.benchmark, sources, first.config.test_images)
    if not targets.names:
        expected = "runs with a target in common that is there"
        raise ProRandConvError.about("runs", f"sources {', '.join(sources)}", expected)
    groups = _groups(runs, loaded)
    judged = []
    with progress("classifying", len(loaded) * len(targets.names), unit="domains") as advance:
        for name, seeds in groups.items():
            found: dict[int, dict[str, Measured]] = {}
            for seed, one in seeds.items():
                found[seed] = {}
                for target in targets.names:
                    found[seed][target] = _measured(one, targets[target])
                    advance(1)
            judged.append(Group(name, found))
    return [_compared(judged[0], g, targets.averaged, first.classes) for g in judged[1:]]


def _refuse_incomparable(runs: Sequence[Path], loaded: Sequence[Trained]) -> None:
    first = loaded[0].config.to_mapping()
    for path, one in zip(runs, loaded, strict=True):
        own = one.config.to_mapping()
        for name in SHARED:
            if own[name] != first[name]:
                expected = f"that of {runs[0]}: {first[name]!r}"
                raise ProRandConvError.about(f"{path}: {name}", own[name], expected)


def _groups(runs: Sequence[Path], loaded: Sequence[Trained]) -> dict[str, dict[int, Trained]]:
    """Runs by what they are but for the seed, and by seed, in the order given.

    If all of them differ in nothing else, each is a group of its own.
    """
    configs = [one.config.to_mapping() for one in loaded]
    apart = [
        name
        for name, value in configs[0].items()
        if name not in FREE and any(config[name] != value for config in configs)
    ]
    found: dict[str, dict[int, Trained]] = {}
    begun = [_weights(run) for run in runs]
    for run, one, config, weights in zip(runs, loaded, configs, begun, strict=True):
        parts = [label(config), *(f"{field} {config[field]}" for field in apart)]
        parts += [f"weights {weights[:8]}"] if len(set(begun)) > 1 else []
        name = ", ".join(parts)
        if one.config.seed in found.get(name, {}):  # such as another --target-every
            name += f", run {run.resolve().name}"
        found.setdefault(name, {})[one.config.seed] = one
    if len(found) > 1:
        return found
    ((name, seeds),) = found.items()
    return {f"{name}, seed {seed}": {seed: one} for seed, one in seeds.items()}


def _weights(run: Path) -> str:
    """The hash of the file that a run began with; empty if it has none, or if it is not known."""
    result = run / RESULT
    return str(read_result(result)["data"].get("weights", "")) if result.exists() else ""


def _measured(one: Trained, samples: Samples) -> Judged | Overlaps:
    how: dict[str, Any] = {"device": one.device, "precision": one.config.precision}
    if one.config.task == "segmentation":
        return Overlaps(confusions(one.network, samples, **how)[None])
    images = labelled(samples)
    found = classified(one.network, images, **how)
    return Judged((found == images.labels)[None], images.labels)


def _compared(
    first: Group, second: Group, averaged: Sequence[str], classes: Sequence[str]
) -> PairedComparison:
    own, other = sorted(first.judged), sorted(second.judged)
    pairs = [(seed, seed) for seed in own if seed in other]
    notes = []
    if not pairs and len(own) == len(other) == 1:
        pairs = [(own[0], other[0])]
        notes.append("other seeds: paired by image only")
    if not pairs:
        raise ProRandConvError.about(f"seeds of {second.name}", other, f"some of {own}")
    alone = {*own, *other} - {seed for pair in pairs for seed in pair}
    if alone:
        notes.append(f"left out, without a partner: seed {', '.join(map(str, sorted(alone)))}")
    one = first.stacked([seed for seed, _ in pairs])
    two = second.stacked([seed for _, seed in pairs])
    return PairedComparison(
        first.name,
        second.name,
        tuple(pairs),
        tuple(by_target(one, two, averaged)),
        tuple(by_class(one, two, classes)),
        tuple(notes),
        "accuracy" if isinstance(one[next(iter(one))], Judged) else "mIoU",
    )
