"""Images with a label each: of one split, and the order in which an epoch goes through them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import Self

from ...errors import ProRandConvError
from .augmentation import flip, jitter_maps, normalise, resize, translate, warp
from .samples import DomainSamples, Pair, Samples, chosen_positions
from .samples import ImageFormat as ImageFormat
from .splits import Split, fingerprint


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


class Images(Samples):
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
        super().__init__(classes, split, format, fingerprint)
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def limited(self, count: int | None) -> Images:
        """So many of these images; see :meth:`Samples.limited`."""
        return self if count is None else Subset(self, count)

    def examples(self, count: int) -> Tensor:
        """The first image of each class; see :meth:`Samples.examples`."""
        firsts = [(self.labels == one).nonzero()[:1, 0] for one in range(len(self.classes))]
        (stored,) = self.stored([torch.cat(firsts)[:count]])
        return normalise(stored, self.format.mean, self.format.std)

    def plan(self, generator: torch.Generator | None, *, augment: bool, jitter: float) -> EpochPlan:
        """The order of an epoch, its base augmentation and its jitter."""
        return EpochPlan.draw(len(self), generator, augment=augment, jitter=jitter)

    def made(self, parts: Sequence[EpochPlan], device: torch.device) -> Iterator[Pair]:
        """Read, augment and normalise batches; see :meth:`Samples.made`."""
        stored = self.stored([part.order for part in parts])
        for part, pixels in zip(parts, stored, strict=True):
            moved = part.augmented(pixels.to(device, non_blocking=True))
            labels = self.labels[part.order].to(device, non_blocking=True)
            yield normalise(moved, self.format.mean, self.format.std), labels

    @abstractmethod
    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Read batches of images as they are stored.

        Args:
            indices: which images, a batch each.

        Yields:
            uint8 ``(n, 1 or 3, S, S)`` for each batch.
        """


class DomainImages(Images, DomainSamples):
    """A split as a domain of labelled images gives it."""


def labelled(samples: Samples) -> Images:
    """The samples, if they are images with a label each; refuses scenes with masks."""
    if not isinstance(samples, Images):
        raise ProRandConvError.about(
            "benchmark", "scenes with masks", "a benchmark whose images have one class each"
        )
    return samples


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
        size = sets[0].format.image_size
        channels = max(part.pixels.shape[1] for part in sets)
        pixels = torch.cat([part.pixels.expand(-1, channels, size, size) for part in sets])
        labels = torch.cat([part.labels for part in sets])
        result = cls(pixels, labels, **sets[0].kind)
        result.fingerprint = fingerprint(part.fingerprint for part in sets)
        return result


class Subset(Images):
    """So many images of a set, chosen at random but always the same; all if it has no more.

    Args:
        images: the set.
        count: how many images.
    """

    def __init__(self, images: Images, count: int) -> None:
        index = chosen_positions(len(images), count)
        content = fingerprint([images.fingerprint, str(len(index))])
        super().__init__(images.labels[index], images.classes, images.split, images.format, content)
        self.images = images
        self.index = index
        self.domains = images.domains[index]

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Read batches of images; see :meth:`Images.stored`."""
        return self.images.stored([self.index[index] for index in indices])
