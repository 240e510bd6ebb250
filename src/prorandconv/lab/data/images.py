"""Labelled images of one split, and the order in which an epoch goes through them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import Self

from ...errors import ProRandConvError
from .pixels import flip, jitter_maps, normalise, resize, translate, warp
from .splits import Split, fingerprint

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class ImageFormat:
    """How a benchmark's images reach the network."""

    image_size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    base_augmentation: bool
    """whether training images are randomly flipped and translated"""


@dataclass(frozen=True)
class EpochPlan:
    """Everything random about one epoch, drawn at its beginning.

    Any batch can be made from the plan alone, so that an epoch can be entered in its middle.
    """

    order: Tensor
    moves: tuple[Tensor, Tensor, Tensor] | None = None
    """which images are flipped, which translated, and the corners of the translated ones"""
    maps: Tensor | None = None
    """of the jitter: zoom, shift and turn of each image"""

    @classmethod
    def draw(
        cls,
        count: int,
        generator: torch.Generator | None,
        *,
        augment: bool,
        jitter: float = 0.0,
    ) -> EpochPlan:
        """Draw the order of an epoch and, if asked for, its base augmentation and its jitter."""
        if generator is None:
            return cls(torch.arange(count))
        order = torch.randperm(count, generator=generator)
        moves = maps = None
        if augment:
            flipped = torch.rand(count, generator=generator) < 0.5
            translated = torch.rand(count, generator=generator) < 0.5
            moves = (flipped, translated, torch.rand(count, 2, generator=generator))
        if jitter:
            maps = jitter_maps(torch.rand(count, 4, generator=generator) * 2 - 1, jitter)
        return cls(order, moves, maps)

    def part(self, positions: Tensor) -> EpochPlan:
        """The plan of some positions of the epoch."""
        moves = None
        if self.moves is not None:
            flipped, translated, corner = self.moves
            moves = (flipped[positions], translated[positions], corner[positions])
        maps = None if self.maps is None else self.maps[positions]
        return EpochPlan(self.order[positions], moves, maps)

    def augmented(self, images: Tensor) -> Tensor:
        """Flip, translate and jitter the images of this part of the epoch."""
        if self.moves is not None:
            flipped, translated, corner = (part.to(images.device) for part in self.moves)
            images = translate(flip(images, flipped), translated, corner)
        return images if self.maps is None else warp(images, self.maps.to(images.device))


class Images(ABC):
    """Labelled images of one split of one domain, or of several joined.

    Args:
        labels: int64 ``(N,)``, positions in ``classes``.
        classes: names of the classes.
        split: which split this is; only ``"train"`` can be augmented.
        format: how the images reach the network.
        fingerprint: a hash of what belongs to this split, to be stored with results.
    """

    def __init__(
        self,
        labels: Tensor,
        classes: tuple[str, ...],
        split: Split,
        format: ImageFormat,
        fingerprint: str,
    ) -> None:
        self.labels = labels
        self.classes = classes
        self.split = split
        self.format = format
        self.fingerprint = fingerprint

    def __len__(self) -> int:
        return len(self.labels)

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
            An iterable, with a length, of float32 images ``(n, 3, S, S)``, normalised, and int64
            labels ``(n,)``.
        """
        if batch_size < 1:
            raise ProRandConvError.about("batch_size", batch_size, "a whole number from 1")
        if augment and self.split != "train":
            raise ProRandConvError.about(
                "augment", augment, f"False: the {self.split} split is never augmented"
            )
        if jitter and self.split != "train":
            raise ProRandConvError.about(
                "jitter", jitter, f"0: the {self.split} split is never augmented"
            )
        if (augment or jitter) and generator is None:
            raise ProRandConvError.about("generator", generator, "a generator, to augment with")
        rank, ranks = shard
        if not 0 <= rank < ranks:
            raise ProRandConvError.about("shard", shard, "(rank, ranks) with 0 <= rank < ranks")
        plan = EpochPlan.draw(
            len(self),
            generator,
            augment=augment and self.format.base_augmentation,
            jitter=jitter,
        )
        positions = torch.arange(rank, len(self) // ranks * ranks, ranks)
        parts = list(torch.split(positions, batch_size))
        if drop_last and parts and len(parts[-1]) < batch_size:
            parts.pop()
        if not 0 <= start <= len(parts):
            raise ProRandConvError.about("start", start, f"a batch from 0 to {len(parts)}")
        return Batches(self, [plan.part(p) for p in parts[start:]], torch.device(device))

    @abstractmethod
    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Read batches of images as they are stored.

        Args:
            indices: which images, a batch each.

        Yields:
            uint8 ``(n, 1 or 3, S, S)`` for each batch.
        """


class Batches:
    """One pass over :class:`Images`, or what is left of it."""

    def __init__(self, images: Images, parts: Sequence[EpochPlan], device: torch.device) -> None:
        self._images = images
        self._parts = parts
        self._device = device

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Batch]:
        form = self._images.format
        stored = self._images.stored([part.order for part in self._parts])
        for part, pixels in zip(self._parts, stored, strict=True):
            moved = part.augmented(pixels.to(self._device, non_blocking=True))
            labels = self._images.labels[part.order].to(self._device, non_blocking=True)
            yield normalise(moved, form.mean, form.std), labels


class DomainImages(Images):
    """A split as a domain gives it; those of several domains can be joined."""

    @classmethod
    @abstractmethod
    def joined(cls, sets: Sequence[Self]) -> Self:
        """The images of several sets of this kind as one, in the given order."""


class InMemoryImages(DomainImages):
    """Images held as uint8, resized once when they are loaded.

    Args:
        pixels: uint8 ``(N, 1 or 3, H, W)`` of any size.
        labels: int64 ``(N,)``.
        classes: names of the classes.
        split: which split this is.
        format: how the images reach the network.
    """

    def __init__(
        self,
        pixels: Tensor,
        labels: Tensor,
        *,
        classes: tuple[str, ...],
        split: Split,
        format: ImageFormat,
    ) -> None:
        content = (part.reshape(-1).numpy().data for part in (pixels, labels))
        super().__init__(labels, classes, split, format, fingerprint(content))
        self.pixels = resize(pixels, format.image_size).contiguous()

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Gather batches of images; see :meth:`Images.stored`."""
        return (self.pixels[index] for index in indices)

    @classmethod
    def joined(cls, sets: Sequence[Self]) -> Self:
        """The images of several sets as one, in the given order."""
        first = sets[0]
        size = first.format.image_size
        channels = max(part.pixels.shape[1] for part in sets)
        pixels = torch.cat([part.pixels.expand(-1, channels, size, size) for part in sets])
        labels = torch.cat([part.labels for part in sets])
        result = cls(pixels, labels, classes=first.classes, split=first.split, format=first.format)
        result.fingerprint = fingerprint(part.fingerprint for part in sets)
        return result


class Subset(Images):
    """So many images of a set, chosen at random but always the same; all if it has no more.

    Args:
        images: the set.
        count: how many images.
    """

    def __init__(self, images: Images, count: int) -> None:
        # Not the first ones, nor every n-th: sets may be sorted, or their classes take turns.
        generator = torch.Generator().manual_seed(0)
        index = torch.randperm(len(images), generator=generator)[:count].sort().values
        content = fingerprint([images.fingerprint, str(len(index))])
        super().__init__(images.labels[index], images.classes, images.split, images.format, content)
        self.images = images
        self.index = index

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Read batches of images; see :meth:`Images.stored`."""
        return self.images.stored([self.index[index] for index in indices])
