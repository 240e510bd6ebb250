"""Runs that are to be compared: grouped by method, paired by seed, asked about the same images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ...errors import ProRandConvError
from ..data import Images
from ..data.images import labelled
from ..progress import progress
from ..run.evaluation import Targets, classified
from ..run.trained import Trained, load_trained
from .compare import label
from .differences import Difference, Judged, by_class, by_target

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
    groups = _groups(loaded)
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


def _groups(loaded: Sequence[Trained]) -> dict[str, dict[int, Trained]]:
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
    for one, config in zip(loaded, configs, strict=True):
        name = ", ".join([label(config), *(f"{field} {config[field]}" for field in apart)])
        found.setdefault(name, {})[one.config.seed] = one
    if len(found) > 1:
        return found
    ((name, seeds),) = found.items()
    return {f"{name}, seed {seed}": {seed: one} for seed, one in seeds.items()}


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
