"""How well a network does on a domain: confusion matrices, and scores from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ..data import Benchmark, Images, Samples
from ..tasks import Evaluation, RunTask, get_task
from .config import RunConfig
from .environment import autocast


def evaluate(
    network: nn.Module,
    samples: Samples,
    task: RunTask,
    *,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
    between: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Compare a network's classes with the labels, image by image or pixel by pixel.

    Args:
        network: in whatever mode; it is left in evaluation mode.
        samples: of one split, never augmented.
        task: what the network finds.
        device: where the network is.
        precision: of the run that the network comes from; other numbers give other figures.
        between: called after each batch; may raise to give up.
    """
    count = len(samples.classes)
    confusion = torch.zeros(count * count, dtype=torch.int64)
    for found, labels in _compared(network, samples, task, device, precision, between):
        known = labels >= 0
        pairs = labels[known] * count + found[known]
        confusion += torch.bincount(pairs, minlength=count * count)
    return task.evaluation(tuple(tuple(row) for row in confusion.view(count, count).tolist()))


def classified(
    network: nn.Module,
    images: Images,
    *,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
) -> Tensor:
    """The predicted class of each image, in the stored order.

    Arguments are those of :func:`evaluate`.
    """
    task = get_task("classification")
    pairs = _compared(network, images, task, device, precision, lambda: None)
    return torch.cat([found for found, _ in pairs])


def confusions(
    network: nn.Module,
    scenes: Samples,
    *,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
) -> Tensor:
    """Confusion counts of each scene, int64 ``(N, classes, classes)``, in the stored order.

    Arguments are those of :func:`evaluate`.
    """
    count, task = len(scenes.classes), get_task("segmentation")
    made = []
    for found, labels in _compared(network, scenes, task, device, precision, lambda: None):
        known = labels >= 0
        pairs = labels[known] * count + found[known]
        made.append(torch.bincount(pairs, minlength=count * count).view(count, count))
    return torch.stack(made)


def _compared(
    network: nn.Module,
    samples: Samples,
    task: RunTask,
    device: torch.device | str,
    precision: str,
    between: Callable[[], None],
) -> Iterator[tuple[Tensor, Tensor]]:
    """Found classes and labels, batch by batch."""
    network.eval()
    device = torch.device(device)
    with torch.inference_mode(), autocast(device, precision):
        for pixels, labels in samples.batches(task.batch_size(samples.format), device=device):
            yield network(pixels).argmax(1).cpu(), labels.cpu()
            between()


class Targets:
    """The domains that a run is measured on, loaded when they are first needed.

    Args:
        benchmark: whose domains.
        sources: domains that were trained on, which are no targets.
        limit: use at most this many images of each, for trials.
    """

    def __init__(
        self, benchmark: Benchmark, sources: tuple[str, ...], limit: int | None = None
    ) -> None:
        self._benchmark = benchmark
        self._limit = limit
        self._loaded: dict[str, Samples] = {}
        there = benchmark.present()
        self.names = tuple(name for name in there if name not in sources)
        self.absent = tuple(name for name in benchmark.missing() if name not in sources)
        self.averaged = tuple(name for name in self.names if name in benchmark.domains)
        """targets of the paper's average; variants and stand-ins are not"""

    def __getitem__(self, name: str) -> Samples:
        if name not in self._loaded:
            self._loaded[name] = self._benchmark.load(name, "test").subset(self._limit)
        return self._loaded[name]

    def average(self, scores: Mapping[str, float]) -> float | None:
        """Mean score over the paper's targets that are there; None if there is none."""
        own = [scores[name] for name in self.averaged]
        return sum(own) / len(own) if own else None


@dataclass(frozen=True)
class EpochMetrics:
    """What was measured at the end of an epoch."""

    validation: Evaluation
    targets: Mapping[str, Evaluation] | None = None
    """None if it was not their turn"""
    average: float | None = None
    """of the paper's targets; None if there is none"""
    shifted: Mapping[str, float] = field(default_factory=dict)
    """score on shifted validation images, by family; empty if the run does without"""


class Evaluator:
    """Measures a run's network on its validation images and targets."""

    def __init__(
        self,
        config: RunConfig,
        validation: Samples,
        shifted: Mapping[str, Samples],
        targets: Targets,
        device: torch.device,
        check_stop: Callable[[], None],
    ) -> None:
        self._config, self._validation, self._targets = config, validation, targets
        self._shifted = shifted
        self._device, self._check_stop = device, check_stop

    def after_epoch(self, network: nn.Module, epoch: int) -> EpochMetrics:
        """Validate, and measure the targets if it is their turn."""
        every = self._config.target_every
        validation = self._evaluate(network, self._validation)
        shifted = {
            family: self._evaluate(network, images).score
            for family, images in self._shifted.items()
        }
        if epoch < self._config.epochs and not (every and epoch % every == 0):
            return EpochMetrics(validation, shifted=shifted)
        scores = self._on_targets(network)
        average = self._targets.average({name: one.score for name, one in scores.items()})
        return EpochMetrics(validation, scores, average, shifted)

    def with_weights(
        self, network: nn.Module, weights: Mapping[str, Tensor]
    ) -> dict[str, Evaluation]:
        """Measure the targets with other weights; the network keeps its own."""
        kept = copied(network.state_dict())
        network.load_state_dict(weights)
        try:
            return self._on_targets(network)
        finally:
            network.load_state_dict(kept)

    def _on_targets(self, network: nn.Module) -> dict[str, Evaluation]:
        return {name: self._evaluate(network, self._targets[name]) for name in self._targets.names}

    def _evaluate(self, network: nn.Module, samples: Samples) -> Evaluation:
        return evaluate(
            network,
            samples,
            get_task(self._config.task),
            device=self._device,
            precision=self._config.precision,
            between=self._check_stop,
        )


def copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A copy of weights, on the CPU."""
    return {name: value.detach().cpu().clone() for name, value in weights.items()}
