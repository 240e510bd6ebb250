"""How well a network knows a domain: confusion counts, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..data import Benchmark, Images
from ..data.images import Subset
from .config import RunConfig
from .environment import autocast
from .signals import StopRequest

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


@dataclass(frozen=True)
class Measured:
    """What was measured at the end of an epoch."""

    validation: Evaluation
    targets: Mapping[str, Evaluation] | None = None
    """None if it was not their turn"""
    average: float | None = None
    """of the paper's targets; None if there is none"""
    shifted: Mapping[str, float] = field(default_factory=dict)
    """accuracy on shifted validation images, by family; empty if the run does without"""


class Measuring:
    """Measures a run's network on its validation images and targets.

    Args:
        config: the run.
        validation: its validation images.
        shifted: the same under shifts, by family.
        targets: its targets.
        device: where the network is.
        stop: true once the run is to stop.
    """

    def __init__(
        self,
        config: RunConfig,
        validation: Images,
        shifted: Mapping[str, Images],
        targets: Targets,
        device: torch.device,
        stop: StopRequest,
    ) -> None:
        self._config, self._validation, self._targets = config, validation, targets
        self._shifted = shifted
        self._device, self._stop = device, stop

    def after_epoch(self, network: nn.Module, epoch: int) -> Measured | None:
        """Validate, and measure the targets if it is their turn; None if asked to stop."""
        every = self._config.target_every
        try:
            validation = self._evaluate(network, self._validation)
            shifted = {
                family: self._evaluate(network, images).accuracy
                for family, images in self._shifted.items()
            }
            if epoch < self._config.epochs and not (every and epoch % every == 0):
                return Measured(validation, shifted=shifted)
            found = self._on_targets(network)
        except _AskedToStopError:
            return None
        average = self._targets.average({name: one.accuracy for name, one in found.items()})
        return Measured(validation, found, average, shifted)

    def with_weights(
        self, network: nn.Module, weights: Mapping[str, Tensor]
    ) -> dict[str, Evaluation] | None:
        """Measure the targets with other weights; the network keeps its own.

        Returns:
            None if asked to stop.
        """
        own = copied(network.state_dict())
        network.load_state_dict(weights)
        try:
            return self._on_targets(network)
        except _AskedToStopError:
            return None
        finally:
            network.load_state_dict(own)

    def _on_targets(self, network: nn.Module) -> dict[str, Evaluation]:
        return {name: self._evaluate(network, self._targets[name]) for name in self._targets.names}

    def _evaluate(self, network: nn.Module, images: Images) -> Evaluation:
        def give_up() -> None:
            if self._stop:
                raise _AskedToStopError

        return evaluate(
            network,
            images,
            device=self._device,
            precision=self._config.precision,
            between=give_up,
        )


class _AskedToStopError(Exception):
    """Ends what is being measured."""


def copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A copy of weights, on the CPU."""
    return {name: value.detach().cpu().clone() for name, value in weights.items()}
