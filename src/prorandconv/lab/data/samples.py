"""What a run learns from and is measured on: samples of one split, gone through in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from typing_extensions import Self

from ...errors import require
from .splits import Split, fingerprint
from .stores import Fetched, Store, joined

Pair = tuple[Tensor, Tensor]
"""Normalised images, and the labels of the images or of all their pixels."""


class Batch(NamedTuple):
    """A mini-batch to learn from."""

    images: Tensor
    """normalised, float32 ``(N, 3, H, W)``"""
    labels: Tensor
    """int64 ``(N,)``, or ``(N, H, W)`` if each pixel has one"""
    domains: Tensor
    """the position of each image's domain in the run's ``source``, int64 ``(N,)``"""


@dataclass(frozen=True)
class ImageFormat:
    """How a benchmark's images reach the network."""

    image_size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    base_augmentation: bool
    """whether training images are augmented as the benchmark's recipe says"""


class Plan(Protocol):
    """Everything random about one epoch, drawn at its beginning.

    Any batch can be made from the plan alone, so that an epoch can be entered in its middle.
    """

    @property
    def order(self) -> Tensor:
        """The sample at each position of the epoch."""

    def part(self, positions: Tensor) -> Self:
        """The plan of some positions of the epoch."""


@dataclass(frozen=True, eq=False)
class Samples(ABC):
    """Images with labels, of one split of one domain, or of several joined.

    Attributes:
        store: where they are read from.
        classes: names of the classes.
        split: which split this is; only ``"train"`` can be augmented.
        format: how the images reach the network.
        fingerprint: a hash of what belongs to this split, to be stored with results.
        index: the position of each sample in the store, int64 ``(N,)``.
        domains: the position of each sample's domain among those that were joined, int64 ``(N,)``.
    """

    store: Store
    classes: tuple[str, ...]
    split: Split
    format: ImageFormat
    fingerprint: str
    index: Tensor
    domains: Tensor

    def __len__(self) -> int:
        return len(self.index)

    def fetch(self, indices: Sequence[Tensor]) -> Iterator[Fetched]:
        """Read batches of images as they are stored; see :meth:`Store.fetch`."""
        return self.store.fetch([self.index[chosen] for chosen in indices])

    def part(self, chosen: Tensor, fingerprint: str) -> Self:
        """The samples at some positions, int64 ``(n,)``."""
        index, domains = self.index[chosen], self.domains[chosen]
        return replace(self, index=index, domains=domains, fingerprint=fingerprint)

    def subset(self, count: int | None) -> Self:
        """At most ``count`` of these samples, at random but always the same; None means all."""
        if count is None:
            return self
        # Not the first ones, nor every n-th: sets may be sorted, or their classes take turns.
        generator = torch.Generator().manual_seed(0)
        chosen = torch.randperm(len(self), generator=generator)[:count].sort().values
        return self.part(chosen, fingerprint([self.fingerprint, str(len(chosen))]))

    def joined_with(self, others: Sequence[Self]) -> Self:
        """These samples and those of other domains as one, in this order."""
        sets = [self, *others]
        store = joined([one.store for one in sets])
        counts = torch.tensor([len(one) for one in sets])
        return replace(
            self,
            store=store,
            fingerprint=store.fingerprint,
            index=torch.arange(len(store)),
            domains=torch.arange(len(sets)).repeat_interleave(counts),
        )

    @abstractmethod
    def examples(self, count: int) -> Tensor:
        """At most ``count`` normalised images to look at, always the same."""

    @abstractmethod
    def plan(self, generator: torch.Generator | None, *, augment: bool, jitter: float) -> Plan:
        """Draw all random numbers of an epoch; without a generator, the stored order."""

    @abstractmethod
    def load(self, parts: Sequence[Any], device: torch.device) -> Iterator[Pair]:
        """Make batches, each from its part of the plan of :meth:`plan`."""

    def batches(
        self,
        batch_size: int,
        *,
        generator: torch.Generator | None = None,
        augment: bool = False,
        jitter: float = 0.0,
        device: torch.device | str = "cpu",
        drop_last: bool = False,
        start: int = 0,
        shard: tuple[int, int] = (0, 1),
    ) -> Batches:
        """Go once through the images.

        All random numbers of the epoch are drawn from the generator in this call and in the same
        number whatever ``start`` is: the same state of the generator gives the same epoch, and
        the batches before ``start`` are neither read nor decoded.

        Args:
            batch_size: images in a batch.
            generator: shuffles, and draws the base augmentation; a CPU generator. None keeps the
                stored order.
            augment: apply the benchmark's base augmentation (none for Digits); training only.
            jitter: strength from 0 to 1 of a random zoom, shift and turn; training only.
            device: where batches go.
            drop_last: leave out a last batch that is not full.
            start: the first batch wanted.
            shard: (rank, number of ranks): each rank gets its own part of the epoch, all of the
                same length.

        Returns:
            An iterable, with a length, of float32 images ``(n, 3, H, W)``, normalised, and int64
            labels, ``(n,)`` or ``(n, H, W)``.
        """
        require("batch_size", batch_size, batch_size >= 1, "an integer >= 1")
        if self.split != "train":
            never = f"the {self.split} split is never augmented"
            require("augment", augment, not augment, f"False: {never}")
            require("jitter", jitter, not jitter, f"0: {never}")
        if augment or jitter:
            require("generator", generator, generator is not None, "a generator, to augment with")
        rank, ranks = shard
        require("shard", shard, 0 <= rank < ranks, "(rank, ranks) with 0 <= rank < ranks")
        plan = self.plan(
            generator, augment=augment and self.format.base_augmentation, jitter=jitter
        )
        positions = torch.arange(rank, len(self) // ranks * ranks, ranks)
        parts = list(torch.split(positions, batch_size))
        if drop_last and parts and len(parts[-1]) < batch_size:
            parts.pop()
        require("start", start, 0 <= start <= len(parts), f"a batch from 0 to {len(parts)}")
        wanted = [plan.part(positions) for positions in parts[start:]]
        return Batches(self.load, wanted, torch.device(device), self.domains)


class Batches:
    """One pass over :class:`Samples`, or what is left of it."""

    def __init__(
        self,
        load: Callable[[Sequence[Any], torch.device], Iterator[Pair]],
        parts: Sequence[Plan],
        device: torch.device,
        domains: Tensor,
    ) -> None:
        self._load = load
        self._parts = parts
        self._device = device
        self._domains = domains

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Pair]:
        return self._load(self._parts, self._device)

    def with_domains(self) -> Iterator[Batch]:
        """The same batches with the domain of each image."""
        for part, (images, labels) in zip(self._parts, self, strict=True):
            yield Batch(images, labels, self._domains[part.order].to(images.device))
