"""What a domain is, what a benchmark is, and its data against what was published."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ...errors import ProRandConvError
from ..errors import DataError, did_you_mean
from .download import Download
from .samples import ImageFormat, Samples
from .scenes import Scenes
from .splits import SPLITS, Split, fingerprint

TaskName = Literal["classification", "segmentation"]

Counts = Mapping[str, tuple[int, ...]]
"""Images of each class, by the part of the data set as it is published ("train", "test", "all")."""

Published = Mapping[str, Mapping[str, int | tuple[int, ...]]]
"""Published numbers of images by domain and part: in all, or of each class."""


@dataclass(frozen=True)
class Recipe:
    """A benchmark's default hyper-parameters."""

    image_size: int
    epochs: int
    epochs_multi_source: int
    batch_size: int
    learning_rate: float
    momentum: float
    weight_decay: float
    schedule: str
    base_augmentation: bool
    """flip and translate training images at random; of scenes scale, flip, colours and blur"""
    pretrained: bool = False
    """start from ImageNet weights"""

    def length(self, *, several_sources: bool) -> int:
        """The number of epochs, which depends on whether there are several sources."""
        return self.epochs_multi_source if several_sources else self.epochs


DIGITS_RECIPE = Recipe(
    image_size=32,
    epochs=500,
    epochs_multi_source=500,
    batch_size=64,
    learning_rate=0.01,
    momentum=0.9,
    weight_decay=0.0,
    schedule="cosine",
    base_augmentation=False,
)

PHOTO_RECIPE = Recipe(
    image_size=224,
    epochs=50,
    epochs_multi_source=150,
    batch_size=64,
    learning_rate=0.001,
    momentum=0.9,
    weight_decay=5e-4,
    schedule="cosine",
    base_augmentation=True,
    pretrained=True,
)


@dataclass(frozen=True)
class CheckReport:
    """What reading all of a domain has shown; without a place, the domain is missing."""

    name: str
    where: Path | None = None
    counts: Counts = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """what must be fixed, each with its path and a remedy"""
    notes: tuple[str, ...] = ()
    """what is worth knowing: conversions, and how the split is made"""


class Domain(ABC):
    """Labelled images of one kind, by split.

    Attributes:
        name: the domain's name, as in the paper.
        extra: empty for the paper's domains; else what this one is.
    """

    name: str
    extra: str = ""

    @abstractmethod
    def where(self) -> Path | None:
        """Where the domain was found; None if it is missing."""

    def parts(self) -> tuple[str, ...]:
        """The parts that are there, as published: "train" and "test", or by default "all"."""
        return ("all",) if self.where() else ()

    @abstractmethod
    def layouts(self) -> tuple[str, ...]:
        """What is looked for, one line for each accepted layout."""

    @abstractmethod
    def counts(self) -> Counts:
        """Count the images of each class; reads labels only."""

    @abstractmethod
    def verify(self) -> CheckReport:
        """Read and decode everything."""

    @abstractmethod
    def load(self, split: Split) -> Samples:
        """The images of a split."""

    def not_found(self) -> DataError:
        """The error about a domain that is missing: what was looked for, and where."""
        looked = " or ".join(self.layouts())
        return DataError(f"domain {self.name!r} is missing: looked for {looked}")


@dataclass(frozen=True)
class Benchmark:
    """An ordered set of domains that share classes, and how to train on them."""

    name: str
    classes: tuple[str, ...]
    format: ImageFormat
    network: str
    recipe: Recipe
    members: Mapping[str, Domain]
    """all domains by name, the paper's first"""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """other spellings of domains"""
    published: Published = field(default_factory=dict)
    sources: str = ""
    """where to get the data and how to lay it out, as shown to users"""
    downloads: tuple[Download, ...] = ()
    """files that can be fetched"""
    task: TaskName = "classification"
    """classification of images, or segmentation: of each of their pixels"""
    user_data: bool = False
    """whether the images are the user's own, so that the name does not say which they are"""

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the paper's domains, in the paper's order."""
        return tuple(name for name, domain in self.members.items() if not domain.extra)

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of further domains: variants and stand-ins, never part of the paper's average."""
        return tuple(name for name, domain in self.members.items() if domain.extra)

    @property
    def image_size(self) -> int:
        """Side of an image in pixels."""
        return self.format.image_size

    def content(self) -> str | None:
        """A hash of all images of a user's own data; None if the name says which they are.

        All images are read once; after that, only those that have changed.
        """
        if not self.user_data:
            return None
        # the test split of an image folder is all of it
        return fingerprint(self.load(name, "test").fingerprint for name in self.domains)

    def present(self) -> tuple[str, ...]:
        """Names of the domains that are there, extras included."""
        return tuple(name for name, domain in self.members.items() if domain.where() is not None)

    def missing(self) -> tuple[str, ...]:
        """Names of the paper's domains that are not there."""
        present = self.present()
        return tuple(name for name in self.domains if name not in present)

    def missing_downloads(self) -> tuple[Download, ...]:
        """Files that can be fetched, of parts that are not there in any layout."""
        return tuple(
            one for one in self.downloads if one.part not in self.domain(one.domain).parts()
        )

    def domain(self, name: str) -> Domain:
        """A domain by its name or another spelling of it."""
        known = self.aliases.get(name, name)
        if known in self.members:
            return self.members[known]
        hint = did_you_mean(name, [*self.members, *self.aliases])
        raise ProRandConvError.about(
            "domain", name, f"one of {', '.join(self.members)} of benchmark {self.name!r}{hint}"
        )

    def load(self, domains: str | Sequence[str], split: Split) -> Samples:
        """The images of a split of one domain, or of several joined in the given order.

        Args:
            domains: a name, or several.
            split: ``"train"``, ``"val"`` or ``"test"``; a target is its ``"test"`` split.
        """
        if split not in SPLITS:
            raise ProRandConvError.about("split", split, f"one of {', '.join(SPLITS)}")
        names = [domains] if isinstance(domains, str) else list(domains)
        if not names:
            raise ProRandConvError.about("domains", domains, "at least one domain")
        known = [self.domain(name).name for name in names]
        if len(set(known)) < len(known):
            raise ProRandConvError.about("domains", domains, "each domain once")
        loaded = [self.domain(name).load(split) for name in names]
        samples = loaded[0] if len(loaded) == 1 else loaded[0].joined_with(loaded[1:])
        if self.user_data and split == "train" and isinstance(samples, Scenes):
            samples.require_all_classes()
        return samples


def check(benchmark: Benchmark) -> Iterator[CheckReport]:
    """Read and decode all of a benchmark's data, and compare it with what was published.

    Yields:
        A report for each domain, as soon as it is done; missing extras are left out.
    """
    for name, domain in benchmark.members.items():
        if domain.where() is not None:
            report = domain.verify()
            problems = (*report.problems, *_miscounts(benchmark, name, report.counts))
            yield replace(report, problems=problems)
        elif not domain.extra:
            yield CheckReport(name)


def _miscounts(benchmark: Benchmark, domain: str, counted: Counts) -> Iterator[str]:
    published = benchmark.published.get(domain, {})
    for part, counts in counted.items():
        expected = published.get(part)
        if isinstance(expected, int) and expected != sum(counts):
            yield (
                f"{domain}, {part}: {sum(counts):,} images, but {expected:,} were published; "
                "complete the data, or give the variant a name of its own"
            )
        elif isinstance(expected, tuple):
            for name, own, theirs in zip(benchmark.classes, counts, expected, strict=True):
                if own != theirs:
                    yield (
                        f"{domain}, {part}, class {name}: {own:,} images, but {theirs:,} were "
                        "published; complete the data"
                    )


def published_total(benchmark: Benchmark, domain: str, part: str) -> int | None:
    """How many images of a part were published; None if that is not known."""
    expected = benchmark.published.get(domain, {}).get(part)
    return sum(expected) if isinstance(expected, tuple) else expected
