"""Scenes with masks, a class for each pixel: crops to train on, whole scenes to measure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import Self

from ...errors import ProRandConvError
from .augmentation import CROP_DRAWS, augmented, cropped, normalise
from .masks import UNLABELLED
from .samples import DomainSamples, ImageFormat, Pair, Samples, chosen_positions
from .splits import Split, fingerprint

IGNORED = -100
"""Marks pixels without a class in batches: what torch's cross-entropy leaves out by itself."""


@dataclass(frozen=True)
class ScenePlan:
    """Everything random about one epoch, drawn at its beginning."""

    order: Tensor
    draws: Tensor | None = None
    """of each crop, ``(N, CROP_DRAWS)`` in [0, 1); None: whole scenes"""
    augment: bool = False
    """whether crops are scaled, flipped, recoloured and blurred"""

    def part(self, positions: Tensor) -> ScenePlan:
        """The plan of some positions of the epoch."""
        draws = None if self.draws is None else self.draws[positions]
        return ScenePlan(self.order[positions], draws, self.augment)


class Scenes(Samples):
    """Scenes with masks, of one split of one domain, or of several joined."""

    @abstractmethod
    def stored(self, indices: Sequence[int]) -> Iterator[Tensor]:
        """Read scenes one by one.

        Yields:
            uint8 ``(4, H, W)``: red, green, blue, and the class of each pixel or ``UNLABELLED``.
        """

    def limited(self, count: int | None) -> Scenes:
        """So many of these scenes; see :meth:`Samples.limited`."""
        return self if count is None else SceneSubset(self, count)

    def examples(self, count: int) -> Tensor:
        """Crops of some scenes; see :meth:`Samples.examples`."""
        crops, _ = next(iter(self.batches(count, generator=torch.Generator().manual_seed(0))))
        return crops

    def plan(self, generator: torch.Generator | None, *, augment: bool, jitter: float) -> ScenePlan:
        """The order of an epoch and its crops; without a generator, whole scenes."""
        if jitter:
            raise ProRandConvError.about("jitter", jitter, "0: scenes are scaled and cropped")
        if generator is None:
            return ScenePlan(torch.arange(len(self)))
        order = torch.randperm(len(self), generator=generator)
        return ScenePlan(order, torch.rand(len(self), CROP_DRAWS, generator=generator), augment)

    def made(self, parts: Sequence[ScenePlan], device: torch.device) -> Iterator[Pair]:
        """Read, crop, augment and normalise batches; see :meth:`Samples.made`."""
        scenes = self.stored([position for part in parts for position in part.order.tolist()])
        form = self.format
        for part in parts:
            batch = []
            for number in range(len(part.order)):
                scene = next(scenes)
                if part.draws is not None:
                    draws = part.draws[number].tolist()
                    scene = cropped(scene, draws, form.image_size, UNLABELLED, scale=part.augment)
                    scene = augmented(scene, draws) if part.augment else scene
                batch.append(scene)
            stacked = torch.stack(batch).to(device, non_blocking=True)
            labels = stacked[:, 3].long()
            labels[labels == UNLABELLED] = IGNORED
            yield normalise(stacked[:, :3], form.mean, form.std), labels


class DomainScenes(Scenes, DomainSamples):
    """A split as a domain of scenes gives it."""


class InMemoryScenes(DomainScenes):
    """Scenes of one size, held as uint8.

    Args:
        scenes: uint8 ``(N, 4, H, W)``; see :meth:`Scenes.stored`.
        classes: names of the classes.
        split: which split this is.
        format: how the scenes reach the network.
    """

    def __init__(
        self, scenes: Tensor, *, classes: tuple[str, ...], split: Split, format: ImageFormat
    ) -> None:
        super().__init__(classes, split, format, fingerprint([scenes.numpy().tobytes()]))
        self.scenes = scenes

    def __len__(self) -> int:
        return len(self.scenes)

    def stored(self, indices: Sequence[int]) -> Iterator[Tensor]:
        """Take scenes one by one; see :meth:`Scenes.stored`."""
        return (self.scenes[index] for index in indices)

    @classmethod
    def joined(cls, sets: Sequence[Self]) -> Self:
        """The scenes of several sets as one, in the given order."""
        return cls(torch.cat([part.scenes for part in sets]), **sets[0].kind)


class SceneSubset(Scenes):
    """So many scenes of a set, always the same; all if it has no more.

    Args:
        scenes: the set.
        count: how many.
    """

    def __init__(self, scenes: Scenes, count: int) -> None:
        self.index = chosen_positions(len(scenes), count).tolist()
        content = fingerprint([scenes.fingerprint, str(len(self.index))])
        super().__init__(scenes.classes, scenes.split, scenes.format, content)
        self.scenes = scenes
        self.domains = scenes.domains[self.index]

    def __len__(self) -> int:
        return len(self.index)

    def stored(self, indices: Sequence[int]) -> Iterator[Tensor]:
        """Read scenes one by one; see :meth:`Scenes.stored`."""
        return self.scenes.stored([self.index[index] for index in indices])
