"""Scenes with masks, a class for each pixel: crops to train on, whole scenes to measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...errors import ProRandConvError
from ..errors import DataError
from .augmentation import CROP_DRAWS, augmented, cropped, normalise
from .masks import UNLABELLED
from .samples import ImageFormat, Pair, Samples
from .splits import Split
from .stores import FileStore, MemoryStore, Options, SceneFile, Store

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


@dataclass(frozen=True, eq=False)
class Scenes(Samples):
    """Scenes with masks, of one split of one domain, or of several joined."""

    @classmethod
    def of(
        cls, store: Store, *, classes: tuple[str, ...], split: Split, format: ImageFormat
    ) -> Scenes:
        """All scenes of a store."""
        index, domains = torch.arange(len(store)), torch.zeros(len(store), dtype=torch.int64)
        return cls(store, classes, split, format, store.fingerprint, index, domains)

    @classmethod
    def in_memory(cls, scenes: Tensor, **kind: Any) -> Scenes:
        """Scenes of one size, uint8 ``(N, 4, H, W)``; see :meth:`Store.fetch`."""
        return cls.of(MemoryStore(scenes), **kind)

    @classmethod
    def in_files(cls, files: Sequence[SceneFile], options: Options, **kind: Any) -> Scenes:
        """Scenes in files, decoded when they are needed."""
        lines = [f"{file.name} {file.content}" for file in files]
        return cls.of(FileStore(files, lines, None, options), **kind)

    def require_all_classes(self) -> None:
        """Raise an error for a class that never occurs, as far as the pixels have been counted."""
        if isinstance(self.store, FileStore):
            files = [self.store.files[position] for position in self.index.tolist()]
            labels = total(file.labels for file in files)
            if labels and (absent := absent_classes(labels, self.classes)):
                raise DataError(f"{files[0].name} and {len(files) - 1} more scene(s): {absent}")

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

    def load(self, parts: Sequence[ScenePlan], device: torch.device) -> Iterator[Pair]:
        """Read, crop, augment and normalise batches; see :meth:`Samples.load`."""
        form = self.format
        fetched = self.fetch([part.order for part in parts])
        for part, batch in zip(parts, fetched, strict=True):
            if part.draws is not None:
                batch = [
                    self._crop(scene, draws, augment=part.augment)
                    for scene, draws in zip(batch, part.draws.tolist(), strict=True)
                ]
            made = torch.stack(list(batch)).to(device, non_blocking=True)
            labels = made[:, 3].long()
            labels[labels == UNLABELLED] = IGNORED
            yield normalise(made[:, :3], form.mean, form.std), labels

    def _crop(self, scene: Tensor, draws: Sequence[float], *, augment: bool) -> Tensor:
        crop = cropped(scene, draws, self.format.image_size, UNLABELLED, scale=augment)
        return augmented(crop, draws) if augment else crop


def total(labels: Iterable[Mapping[int, int]]) -> Counter[int]:
    """The pixels of each class in several scenes."""
    counts: Counter[int] = Counter()
    for one in labels:
        counts.update(one)
    return counts


def shares(labels: Mapping[int, int], classes: Sequence[str]) -> str:
    """The share of each class in all pixels, as a text."""
    everything = sum(labels.values()) or 1
    named = [*enumerate(classes), (UNLABELLED, "without a class")]
    return ", ".join(f"{name} {labels.get(label, 0) / everything:.2%}" for label, name in named)


def absent_classes(labels: Mapping[int, int], classes: Sequence[str]) -> str:
    """What is wrong if a class never occurs, with the likely cause; empty if all do."""
    absent = [name for label, name in enumerate(classes) if not labels.get(label)]
    if not absent:
        return ""
    found = f"no pixel of class {', '.join(map(repr, absent))} in any mask"
    if set(labels) == {0, UNLABELLED}:
        return (
            f"{found}, only 0 and {UNLABELLED}, which marks pixels without a class; if they are "
            f"binary masks, save the foreground as 1 instead of {UNLABELLED}"
        )
    return f"{found}; correct the masks, or the list of classes"
