"""Images with a label each: of one split, and the order in which an epoch goes through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from ...errors import ProRandConvError
from .augmentation import flip, jitter_maps, normalise, resize, translate, warp
from .samples import ImageFormat as ImageFormat
from .samples import Pair, Samples
from .splits import Split, fingerprint
from .stores import Fetched, FileStore, ImageFile, MemoryStore, Options, Store


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
        """Draw the order of an epoch and, if set, its base augmentation and its jitter."""
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
        if not len(images):
            return images
        if self.moves is not None:
            flipped, translated, corner = (part.to(images.device) for part in self.moves)
            images = translate(flip(images, flipped), translated, corner)
        return images if self.maps is None else warp(images, self.maps.to(images.device))


@dataclass(frozen=True, eq=False)
class Images(Samples):
    """Images with a label each, of one split of one domain, or of several joined.

    Attributes:
        labels: int64 ``(N,)``, positions in ``classes``.
    """

    labels: Tensor

    @classmethod
    def of(
        cls,
        store: Store,
        labels: Tensor,
        *,
        classes: tuple[str, ...],
        split: Split,
        format: ImageFormat,
    ) -> Images:
        """All images of a store, and their labels."""
        index, domains = torch.arange(len(store)), torch.zeros(len(store), dtype=torch.int64)
        return cls(store, classes, split, format, store.fingerprint, index, domains, labels)

    @classmethod
    def in_memory(
        cls, pixels: Tensor, labels: Tensor, *, format: ImageFormat, **kind: Any
    ) -> Images:
        """Images held as uint8, resized once.

        Args:
            pixels: uint8 ``(N, 1 or 3, H, W)`` of any size.
            labels: int64 ``(N,)``.
            format: how the images reach the network.
            kind: classes and split.
        """
        content = fingerprint(part.reshape(-1).numpy().data for part in (pixels, labels))
        store = MemoryStore(resize(pixels, format.image_size).contiguous(), content)
        return cls.of(store, labels, format=format, **kind)

    @classmethod
    def in_files(
        cls,
        files: Sequence[ImageFile],
        options: Options,
        *,
        classes: tuple[str, ...],
        format: ImageFormat,
        split: Split,
    ) -> Images:
        """Images in files, decoded when they are needed."""
        lines = [f"{file.name} {classes[file.label]} {file.content}" for file in files]
        store = FileStore(files, lines, format.image_size, options)
        labels = torch.tensor([file.label for file in files], dtype=torch.int64)
        return cls.of(store, labels, classes=classes, split=split, format=format)

    def part(self, chosen: Tensor, fingerprint: str) -> Self:
        """The images at some positions; see :meth:`Samples.part`."""
        return replace(super().part(chosen, fingerprint), labels=self.labels[chosen])

    def joined_with(self, others: Sequence[Self]) -> Self:
        """These images and those of other domains; see :meth:`Samples.joined_with`."""
        labels = torch.cat([self.labels, *(one.labels for one in others)])
        return replace(super().joined_with(others), labels=labels)

    def examples(self, count: int) -> Tensor:
        """The first image of each class; see :meth:`Samples.examples`."""
        firsts = [(self.labels == one).nonzero()[:1, 0] for one in range(len(self.classes))]
        return normalise(self.stacked(torch.cat(firsts)[:count]), self.format.mean, self.format.std)

    def plan(self, generator: torch.Generator | None, *, augment: bool, jitter: float) -> EpochPlan:
        """The order of an epoch, its base augmentation and its jitter."""
        return EpochPlan.draw(len(self), generator, augment=augment, jitter=jitter)

    def load(self, parts: Sequence[EpochPlan], device: torch.device) -> Iterator[Pair]:
        """Read, augment and normalise batches; see :meth:`Samples.load`."""
        fetched = self.fetch([part.order for part in parts])
        for part, batch in zip(parts, fetched, strict=True):
            moved = part.augmented(
                stacked(batch, self.format.image_size).to(device, non_blocking=True)
            )
            labels = self.labels[part.order].to(device, non_blocking=True)
            yield normalise(moved, self.format.mean, self.format.std), labels

    def stacked(self, chosen: Tensor) -> Tensor:
        """The images at some positions as they are stored, uint8 ``(n, 1 or 3, S, S)``."""
        (batch,) = self.fetch([chosen])
        return stacked(batch, self.format.image_size)


def stacked(batch: Fetched, size: int) -> Tensor:
    """Images of one size as one tensor; grey ones become coloured if others are."""
    if isinstance(batch, Tensor):
        return batch
    channels = max((len(image) for image in batch), default=1)
    result = torch.empty(len(batch), channels, size, size, dtype=torch.uint8)
    for image, place in zip(batch, result, strict=True):
        place[:] = image
    return result


def labelled(samples: Samples) -> Images:
    """The samples, if they are images with a label each; scenes with masks raise an error."""
    if not isinstance(samples, Images):
        raise ProRandConvError.about(
            "benchmark", "scenes with masks", "a benchmark whose images have one class each"
        )
    return samples
