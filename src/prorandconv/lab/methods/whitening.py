"""Normalisations of a ResNet's early layers: IBN-Net, IterNorm, SW, and ISW (RobustNet)."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torchvision.transforms import v2

from ..data import Samples
from ..data.samples import Batch
from ..models import hooked
from .ascent import frozen
from .augmenting import from_pixels, to_pixels, torch_seeded
from .contract import Count, Method, NonNegative, Style
from .learner import Learner, Losses, OneLoss, RunInfo, cross_entropy
from .normalisations import IterNorm, SwitchableWhitening, early_layers, normalise

EPS = 1e-5


@dataclass(frozen=True)
class Normalising(Method, ABC):
    """Cross-entropy of a ResNet, or a network with one inside, with another normalisation.

    As in RobustNet's harness (Choi et al., CVPR 2021) it is in place of the stem's batch
    normalisation, whose pretrained weights are lost, and between the sum and the last ReLU of the
    last blocks of layer1 and layer2.
    """

    label: ClassVar[str]

    @property
    def style(self) -> Style:
        """Its label."""
        return Style(self.label)

    @abstractmethod
    def normalisation(self, channels: int) -> nn.Module:
        """One of them."""

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The changed network."""
        normalise(network, self.normalisation)
        return OneLoss(network, cross_entropy)


@dataclass(frozen=True)
class IBNNet(Normalising):
    """Instance normalisation with learnt scale and shift (Pan et al., ECCV 2018).

    This is the row of RobustNet's tables. IBN-Net's own networks have one at other places (after
    the last blocks of layer1 to layer3, or in half of the channels), and weights of ImageNet.
    """

    label = "IBN-Net"

    def normalisation(self, channels: int) -> nn.Module:
        """Instance normalisation, affine."""
        return nn.InstanceNorm2d(channels, affine=True)


@dataclass(frozen=True)
class IterNormNet(Normalising):
    """Groups of channels are whitened by the mini-batch (Huang et al., CVPR 2019).

    The inverse root of the covariance comes from Newton's iteration. No script of this row is
    public: groups are those of IterNorm's paper.
    """

    label = "IterNorm"

    group: Count = 64
    """channels that are whitened together"""

    def normalisation(self, channels: int) -> nn.Module:
        """Whitening by the mini-batch."""
        return IterNorm(channels, self.group)


@dataclass(frozen=True)
class SWNet(Normalising):
    """Switchable whitening by moments of the mini-batch and of each image (Pan et al., ICCV 2019).

    Both are mixed by learnt weights, apart for means and covariances.
    """

    label = "SW"

    group: Count = 16
    """channels that are whitened together"""

    def normalisation(self, channels: int) -> nn.Module:
        """Whitening by both."""
        return SwitchableWhitening(channels, self.group)


@dataclass(frozen=True)
class ISW(Normalising):
    """Covariances that change with colours and blur are driven to 0 (Choi et al., CVPR 2021).

    Instance normalisation without scale and shift; after some epochs its covariances (Eq. 9) are
    compared between images of the source and their photometric changes. Entries above the diagonal
    whose variance (Eq. 12) is not in the lowest of three clusters are added to the loss (Eq. 16).
    As in the authors' code this is done several times, and entries count that are chosen each time.
    Their clusters also hold the zeros below the diagonal, and the images are whole: here the
    clusters are the paper's, and images are as large as those of the training.
    """

    label = "ISW"

    weight: NonNegative = 0.6
    """of the covariances in the loss"""
    start: Count = 6
    """epochs before the covariances are chosen"""
    trials: Count = 10
    """how often images are changed"""
    images: Count = 500
    """images for a trial, at most"""

    def normalisation(self, channels: int) -> nn.Module:
        """Instance normalisation."""
        return nn.InstanceNorm2d(channels)

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The changed network, and which covariances count."""
        layers = normalise(network, self.normalisation)
        return SelectivelyWhitened(network, self, info, layers)


class SelectivelyWhitened(Learner):
    """A network some of whose covariances are driven to 0."""

    chosen: Tensor

    def __init__(
        self, network: nn.Module, method: ISW, info: RunInfo, layers: Mapping[str, int]
    ) -> None:
        super().__init__(network)
        self.method, self.info, self.layers = method, info, tuple(layers)
        self.register_buffer("chosen", torch.zeros((), dtype=torch.bool))
        for number, channels in enumerate(layers.values()):
            empty = torch.zeros(channels, channels, dtype=torch.bool)
            self.register_buffer(f"mask{number}", empty)

    @property
    def masks(self) -> list[Tensor]:
        """Which covariances count in each layer, ``(C, C)``; none before they are chosen."""
        return [self.get_buffer(f"mask{number}") for number in range(len(self.layers))]

    def begin_epoch(
        self,
        epoch: int,
        source: Samples,
        generator: torch.Generator,
        check_stop: Callable[[], None],
    ) -> None:
        """Choose the covariances, once."""
        if epoch < self.method.start or self.chosen:
            return
        masks = [torch.ones_like(mask) for mask in self.masks]
        with frozen(self.network), torch.no_grad():
            for _ in range(self.method.trials):
                found = self._sensitivities(source, generator, check_stop)
                every = zip(masks, found, strict=True)
                masks = [mask & sensitive_entries(one) for mask, one in every]
        for mask, new in zip(self.masks, masks, strict=True):
            mask.copy_(self.info.gather(new[None])[0])  # the first process's, in all of them
        self.chosen.fill_(True)  # last: a stop leaves no half

    def _sensitivities(
        self, source: Samples, generator: torch.Generator, check_stop: Callable[[], None]
    ) -> list[Tensor]:
        """Of all layers: the mean over images, changed anew."""
        change = v2.Compose([v2.ColorJitter(0.8, 0.8, 0.8, 0.3), v2.GaussianBlur(9, (0.15, 1.3))])
        found: list[list[Tensor]] = []
        device = self.chosen.device
        batches = source.batches(1, shard=self.info.shard, device=device)
        for image, *_ in itertools.islice(
            batches, math.ceil(self.method.images / self.info.shard[1])
        ):
            check_stop()
            with torch_seeded(generator):  # torchvision draws from torch's own generator only
                pixels = change(to_pixels(image, self.info.format))
            pair = torch.cat((image, from_pixels(pixels, self.info.format)))
            _, outputs = self._outputs(partial(early_layers, self.network, pair))
            both = [covariances(one) for one in outputs]
            found.append([sensitivity(one[:1], one[1:]) for one in both])
        means = [torch.stack(layer).mean(0) for layer in zip(*found, strict=True)]
        return [self.info.gather(one[None]).mean(0) for one in means]

    def _outputs(self, run: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
        """A result, and what the normalisations gave meanwhile."""
        outputs: list[Tensor] = []

        def keep(found: Tensor) -> Tensor:
            outputs.append(found)
            return found

        with hooked(self.network, self.layers, keep):
            return run(), outputs

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the cross-entropy, and the covariances once they are chosen."""
        logits, outputs = self._outputs(lambda: self.network(batch.images))
        loss = F.cross_entropy(logits, batch.labels)
        if self.chosen:
            loss = loss + self.method.weight * isw_loss(outputs, self.masks)
        yield {"network": loss}


def covariances(x: Tensor) -> Tensor:
    """Covariances f fᵀ / (HW - 1) + ε I of each image: ``(N, C, H, W)`` to ``(N, C, C)``."""
    # Small differences count, whatever the network computes in.
    with torch.autocast(x.device.type, enabled=False):
        columns = x.to(torch.promote_types(x.dtype, torch.float32)).flatten(2)
        products = columns @ columns.transpose(1, 2) / (columns.shape[2] - 1)
        return products + EPS * torch.eye(x.shape[1], dtype=columns.dtype, device=x.device)


def sensitivity(plain: Tensor, changed: Tensor) -> Tensor:
    """Mean over images of the variance of each covariance between an image and its change.

    Args:
        plain: covariances of the images ``(N, C, C)``.
        changed: of their changes, likewise.
    """
    return (plain - changed).square().mean(0) / 2


def sensitive_entries(sensitivity: Tensor) -> Tensor:
    """Entries above the diagonal of ``(C, C)`` that are not in the lowest of three clusters."""
    above = torch.ones_like(sensitivity, dtype=torch.bool).triu(1)
    values = sensitivity[above].double().sort().values
    lowest = values[lowest_cluster(values.cpu().numpy()) - 1]
    return above & (sensitivity.double() > lowest)


def lowest_cluster(values: NDArray[np.float64]) -> int:
    """How many of some sorted numbers are in the lowest of three clusters.

    The clusters are those with the smallest sum of squared distances from their means. For each
    place where the second one may end, the best end of the first one is found; it moves up with
    that place, so that halving leaves few to be looked at.
    """
    count = len(values)
    sums, squares = (np.concatenate(([0.0], one.cumsum())) for one in (values, values**2))

    def cost(start: Any, end: Any) -> Any:
        return squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)

    best = (math.inf, 1)
    pending = [(2, count - 1, 1, count - 2)]
    while pending:
        low, high, first, last = pending.pop()
        if low > high:
            continue
        second = (low + high) // 2
        ends = np.arange(first, min(last, second - 1) + 1)
        costs = cost(0, ends) + cost(ends, second)
        end = int(ends[costs.argmin()])
        best = min(best, (float(costs.min() + cost(second, count)), end))
        pending += [(low, second - 1, first, end), (second + 1, high, end, last)]
    return best[1]


def isw_loss(outputs: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """Mean over layers and images of Σ |masked covariance| / number of masked entries.

    Args:
        outputs: of the normalisations, ``(N, C, H, W)`` each.
        masks: ``(C, C)`` each.
    """
    layers = []
    for x, mask in zip(outputs, masks, strict=True):
        total = (covariances(x) * mask).abs().sum((1, 2)).mean()
        layers.append(total / mask.sum().clamp_min(1))
    return torch.stack(layers).mean()
