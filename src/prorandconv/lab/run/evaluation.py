"""How well a network knows a domain: confusion counts, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..data import Benchmark, Images
from ..data.images import Subset
from .environment import autocast

PIXELS = 256 * 32 * 32
"""Pixels of a batch: 256 images of 32 pixels, or as few as memory wants of large ones."""


@dataclass(frozen=True)
class Evaluation:
    """Confusion counts: how many images of each class (rows) were taken for which (columns)."""

    confusion: tuple[tuple[int, ...], ...]

    @property
    def images(self) -> int:
        """How many images there were."""
        return sum(map(sum, self.confusion))

    @property
    def accuracy(self) -> float:
        """Per cent of the images whose class was found."""
        right = sum(row[i] for i, row in enumerate(self.confusion))
        return 100 * right / max(self.images, 1)

    @property
    def per_class(self) -> tuple[float | None, ...]:
        """The same for each class; None for a class without images."""
        rows = enumerate(self.confusion)
        return tuple(100 * row[i] / sum(row) if sum(row) else None for i, row in rows)

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as in result.json."""
        return {
            "accuracy": self.accuracy,
            "images": self.images,
            "per_class": list(self.per_class),
            "confusion": [list(row) for row in self.confusion],
        }

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Evaluation:
        """The evaluation that was stored."""
        return cls(tuple(tuple(row) for row in stored["confusion"]))


def evaluate(
    network: nn.Module,
    images: Images,
    *,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
    between: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Compare a network's classes with the labels, image by image.

    Args:
        network: in whatever mode; it is left in evaluation mode.
        images: of one split, never augmented.
        device: where the network is.
        precision: of the run that the network comes from; other numbers give other figures.
        between: called after each batch; may raise to give up.
    """
    count = len(images.classes)
    predicted = classified(network, images, device=device, precision=precision, between=between)
    confusion = torch.bincount(images.labels * count + predicted, minlength=count * count)
    return Evaluation(tuple(tuple(row) for row in confusion.view(count, count).tolist()))


def classified(
    network: nn.Module,
    images: Images,
    *,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
    between: Callable[[], None] = lambda: None,
) -> Tensor:
    """The class that a network takes each image for, in the stored order.

    Arguments are those of :func:`evaluate`.
    """
    network.eval()
    batch_size = max(PIXELS // images.format.image_size**2, 1)
    device = torch.device(device)
    found = []
    with torch.inference_mode(), autocast(device, precision):
        for pixels, _ in images.batches(batch_size, device=device):
            found.append(network(pixels).argmax(1).cpu())
            between()
    return torch.cat(found)


class Targets:
    """The domains that a run is measured on, loaded when they are first needed.

    Args:
        benchmark: whose domains.
        sources: domains that were trained on, which are no targets.
        limit: use so many images of each, for trials.
    """

    def __init__(
        self, benchmark: Benchmark, sources: tuple[str, ...], limit: int | None = None
    ) -> None:
        self._benchmark = benchmark
        self._limit = limit
        self._loaded: dict[str, Images] = {}
        there = benchmark.present()
        self.names = tuple(name for name in there if name not in sources)
        self.absent = tuple(name for name in benchmark.missing() if name not in sources)
        self.averaged = tuple(name for name in self.names if name in benchmark.domains)
        """targets of the paper's average; variants and stand-ins are not"""

    def __getitem__(self, name: str) -> Images:
        if name not in self._loaded:
            images = self._benchmark.load(name, "test")
            self._loaded[name] = images if self._limit is None else Subset(images, self._limit)
        return self._loaded[name]

    def average(self, accuracies: Mapping[str, float]) -> float | None:
        """Mean accuracy over the paper's targets that are there; None if there is none."""
        own = [accuracies[name] for name in self.averaged]
        return sum(own) / len(own) if own else None
