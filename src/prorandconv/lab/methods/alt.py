"""ALT (Gokhale et al., WACV 2023): an adversarial network changes the images, and a random one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import RandConv
from ..data import ImageFormat, Samples
from ..data.samples import Batch
from .ascent import frozen
from .augmenting import divergence, normalised
from .contract import Classifying, Count, Positive, Probability, Style
from .learner import Learner, Losses, RunInfo

SLOPE = 0.2
Weights = Sequence[tuple[Tensor, Tensor]]
"""Weight ``(out, in, 3, 3)`` and bias ``(out,)`` of each convolution."""


@dataclass(frozen=True)
class ALT(Classifying):
    """Cross-entropy of the originals, and consistency of three views of them.

    The views are the images, the images behind a fresh network of five convolutions whose weights
    ascend on CE - total variation (Eq. 4 and 5), and a random convolution mixed with them. As in
    the authors' code the weights begin as Kaiming's and ascend by Adam. Their steps of 5e-6 move
    weights of deviation .1 by about 5e-5 in all: the network is as good as random. There biases and
    Adam's moments stay from mini-batch to mini-batch, and views are limited to [.0001, 1] (to
    [0, 1] behind the random convolution) in normalised images, which cuts off half of their range:
    here to the range of pixels.
    """

    weight: Probability = 0.75
    """w: of the consistency; cross-entropy has 1 - w"""
    start: Probability = 0.125
    """share of the run before the views, with cross-entropy alone"""
    ascent_steps: Count = 10
    """steps of the adversarial network"""
    step_size: Positive = 5e-6
    """their learning rate"""
    hidden: Count = 18
    """channels between its convolutions"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "digits": {
            "optimiser": "adam",
            "learning_rate": 1e-4,
            "batch_size": 32,
            "schedule": "constant",
            "epochs": 32,  # 10,000 steps
        },
        "pacs": {
            "learning_rate": 4e-3,
            "weight_decay": 1e-4,
            "batch_size": 32,
            "epochs": 43,  # 2,000 steps on Photo
            "options": {"start": 0.2, "step_size": 5e-5},
        },
    }

    @property
    def style(self) -> Style:
        """Its label."""
        return Style("ALT")

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network; the adversarial ones are fresh in each step."""
        return Transformed(network, self, info)


class Transformed(Learner):
    """A network that learns from changed images."""

    def __init__(self, network: nn.Module, method: ALT, info: RunInfo) -> None:
        super().__init__(network)
        self.method, self.info, self.epoch = method, info, 0

    def begin_epoch(
        self,
        epoch: int,
        source: Samples,
        generator: torch.Generator,
        check_stop: Callable[[], None],
    ) -> None:
        """Take note of the epoch."""
        self.epoch = epoch

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the loss of the images, and after a while of their views."""
        x, y, own = batch.images, batch.labels, self.method
        if self.epoch < own.start * self.info.epochs:
            yield {"network": F.cross_entropy(self.network(x), y)}
            return
        views = torch.cat((x, *self.views(x, y, generator)))
        yield {"network": alt_loss(self.network(views).chunk(3), y, own.weight)}

    def views(self, x: Tensor, y: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The images behind an adversarial network, and behind a random convolution."""
        own, (low, high) = self.method, limits(x, self.info.format)
        drawn = fresh_weights(generator, own.hidden)
        fresh = [(weight.to(x.device), bias.to(x.device)) for weight, bias in drawn]
        random = RandConv(mix=True, identity=0.0)
        # Images are computed in full precision, whatever the network computes in.
        with torch.autocast(x.device.type, enabled=False):
            with frozen(self.network):
                weights = ascended(
                    x, y, self.network, fresh, low, high, own.ascent_steps, own.step_size
                )
            with torch.no_grad():
                mixed = random(x, draw=random.draw(x, generator)).clamp(low, high)
                return transformed(x, weights, low, high), mixed


def limits(x: Tensor, format: ImageFormat) -> tuple[Tensor, Tensor]:
    """The lowest and highest value of normalised images, ``(1, 3, 1, 1)``."""
    lowest, highest = (
        normalised(torch.full((1, 3, 1, 1), value, device=x.device), format) for value in (0.0, 1.0)
    )
    return lowest, highest


def fresh_weights(generator: torch.Generator, hidden: int) -> Weights:
    """Draw five convolutions of 3×3: N(0, 2 / fan-in), biases U(±1 / sqrt(fan-in))."""
    sides = [3, *[hidden] * 4, 3]
    weights = []
    for inner, outer in itertools.pairwise(sides):
        fan = 9 * inner
        weight = torch.randn(outer, inner, 3, 3, generator=generator) * math.sqrt(2 / fan)
        bias = (2 * torch.rand(outer, generator=generator) - 1) / math.sqrt(fan)
        weights.append((weight, bias))
    return weights


def transformed(x: Tensor, weights: Weights, low: Tensor, high: Tensor) -> Tensor:
    """Images ``(N, 3, S, S)`` behind the convolutions, with leaky ReLUs between, clamped."""
    *first, last = weights
    for weight, bias in first:
        x = F.leaky_relu(F.conv2d(x, weight, bias, padding=1), SLOPE)
    return F.conv2d(x, *last, padding=1).clamp(low, high)


def variation(x: Tensor) -> Tensor:
    """Total variation: twice the mean squared step between neighbours, down and across."""
    down, across = (x.diff(dim=dim).square().mean() for dim in (2, 3))
    return 2 * (down + across)


def ascended(
    x: Tensor,
    labels: Tensor,
    network: Callable[[Tensor], Tensor],
    weights: Weights,
    low: Tensor,
    high: Tensor,
    steps: int,
    rate: float,
) -> Weights:
    """The weights after some steps of Adam up CE - total variation of the changed images.

    Args:
        x: normalised images ``(N, 3, S, S)``.
        labels: ``(N,)``.
        network: gives logits; it stays as it is.
        weights: of the convolutions, at first.
        low: smallest value of an image.
        high: largest value of an image.
        steps: how many.
        rate: learning rate.
    """
    flat = [one.detach().clone().requires_grad_() for pair in weights for one in pair]
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    adam = torch.optim.Adam(flat, lr=rate, maximize=True)
    for _ in range(steps):
        moved = transformed(x, pairs, low, high)
        objective = F.cross_entropy(network(moved), labels) - variation(moved)
        for one, gradient in zip(flat, torch.autograd.grad(objective, flat), strict=True):
            one.grad = gradient
        adam.step()
    return [(weight.detach(), bias.detach()) for weight, bias in pairs]


def alt_loss(logits: tuple[Tensor, ...], labels: Tensor, weight: float) -> Tensor:
    """(1 - w) CE of the first view + w · Jensen-Shannon divergence of all (Eq. 6).

    Args:
        logits: of each view ``(N, K)``, the originals first.
        labels: ``(N,)``.
        weight: w.
    """
    task = F.cross_entropy(logits[0], labels)
    return (1 - weight) * task + weight * divergence(logits)
