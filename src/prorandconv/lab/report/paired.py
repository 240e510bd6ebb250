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
from ..data import Images
from ..data.images import labelled
from ..progress import progress
from ..run.directory import RESULT
from ..run.evaluation import Targets, classified
from ..run.stored import read_result
from ..run.trained import Trained, load_trained
from ..study.table import CONFIDENCE, Estimate
from .compare import label

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

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed, and what they got right."""

    name: str
    judged: Mapping[int, Mapping[str, Judged]]
    """by seed and target"""

    def stacked(self, seeds: Sequence[int]) -> dict[str, Judged]:
        """What these seeds got right, by target."""
        first = self.judged[seeds[0]]
        return {
            name: Judged(torch.cat([self.judged[s][name].right for s in seeds]), one.labels)
            for name, one in first.items()
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
            found: dict[int, dict[str, Judged]] = {}
            for seed, one in seeds.items():
                found[seed] = {}
                for target in targets.names:
                    found[seed][target] = _judged(one, labelled(targets[target]))
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


def _judged(one: Trained, images: Images) -> Judged:
    found = classified(one.network, images, device=one.device, precision=one.config.precision)
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
    )
