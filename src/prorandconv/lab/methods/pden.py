"""PDEN (Li et al., CVPR 2021): generators of new domains, learnt one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from ..data.samples import Batch
from ..models import features, last_linear
from .augmenting import normalised, unnormalised
from .contract import Classifying, Count, NonNegative, Positive
from .learner import Learner, Losses, MakeOptimiser, RunInfo
from .losses import similarities, supervised_contrast

NOISE = 10
"""Dimensions of the noise that sets a generator's style."""

PRETRAINING = 1 / 13
"""Share of the steps before the first generator: 5,000 of 65,000."""

LEARNING = 1 / 2
"""Share of a generator's steps in which it learns: 15 of 30 epochs."""


@dataclass(frozen=True)
class PDEN(Classifying):
    """Domains are added one by one, each by a generator that learns against the network.

    The network learns from images, from those of an earlier generator, from a blend of both, and
    from the present generator's, by cross-entropy and a contrast whose positives are views of the
    same image. The generator keeps the class (safety), can be inverted by a second network
    (cycle), drives views apart and differs for different noise up to a limit (effectiveness);
    noise and weights are as in the authors' code, which works on pixels from 0 to 1.

    It trains 50 × 100 + 20 × 30 × 100 steps: here these shares are stretched over the run. There
    the network steps before the generator's gradient is taken, which PyTorch has not allowed since
    1.5: here both gradients are taken first.
    """

    label: ClassVar[str] = "PDEN"
    domains: Count = 20
    """how many generators are learnt"""
    temperature: Positive = 0.07
    """τ of the contrasts"""
    diversity: NonNegative = 2.0
    """weight of the difference by noise"""
    limit: Positive = 0.5
    """up to which that difference counts"""
    cycle: NonNegative = 20.0
    """weight of the inversion"""
    separation: NonNegative = 0.1
    """weight of the contrast that drives views apart"""
    generator_rate: Positive = 1e-4
    """learning rate of the generators' Adam"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "digits": {
            "optimiser": "adam",
            "learning_rate": 1e-4,
            "batch_size": 128,
            "schedule": "constant",
            "epochs": 834,  # 65,000 steps, of 128 images before the first generator too
        }
    }

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network, and all generators."""
        return Expanding(network, self, info)

    def generator_loss(
        self, task: Tensor, diversity: Tensor, cycle: Tensor, separation: Tensor
    ) -> Tensor:
        """What the generator minimises: the weighted sum of its parts, all scalars."""
        found = task - self.diversity * diversity + self.cycle * cycle
        return found + self.separation * separation


class Expanding(Learner):
    """A network with a projection of its features, and the generators with their inverses."""

    done: Tensor

    def __init__(self, network: nn.Module, method: PDEN, info: RunInfo) -> None:
        super().__init__(network)
        self.method, self.info = method, info
        self.projection = nn.Linear(last_linear(network).in_features, 128)
        self.generators = nn.ModuleList(Generator() for _ in range(method.domains))
        self.inverses = nn.ModuleList(Generator() for _ in range(method.domains))
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    def optimisers(self, make: MakeOptimiser) -> dict[str, Optimizer]:
        """Of the network with its projection, and of the generators."""
        both = [*self.generators.parameters(), *self.inverses.parameters()]
        group = {"params": both, "constant": True}
        return {
            "network": make([*self.network.parameters(), *self.projection.parameters()]),
            "generator": Adam([group], lr=self.method.generator_rate),
        }

    def phase(self) -> tuple[int, bool]:
        """Which generator is the present one, -1 for none yet, and whether it learns."""
        share = int(self.done) / (self.info.epochs * self.info.steps)
        place = (share - PRETRAINING) / (1 - PRETRAINING) * self.method.domains
        number = min(int(place // 1), self.method.domains - 1)
        return max(number, -1), place - number < LEARNING

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Learn from all views; while the present generator learns, both in one round."""
        x, y, own = batch.images, batch.labels, self.method
        number, learning = self.phase()
        self.done += 1
        if number < 0:
            yield {"network": F.cross_entropy(self.network(x), y)}
            return
        pixels = unnormalised(x, self.info.format)
        count = len(x)

        def noise() -> Tensor:
            return torch.randn(count, NOISE, generator=generator).to(x.device)

        with torch.set_grad_enabled(learning):
            new, other = (self.generators[number](pixels, noise()) for _ in range(2))
        views = [new, pixels]
        if number > 0:
            with torch.no_grad():
                which = int(torch.randint(number, (), generator=generator))
                earlier = self.generators[which](pixels, noise())
                share = torch.rand(count, 1, 1, 1, generator=generator).to(x.device)
                views += [earlier, share * pixels + (1 - share) * earlier]
        images = normalised(torch.cat(views), self.info.format)
        found, logits = features(self.network, images)
        points = self.projection(found).view(len(views), count, -1)
        tasks = [F.cross_entropy(one, y) for one in logits.chunk(len(views))]
        total = torch.stack(tasks).sum() + supervised_contrast(points, None, own.temperature)
        losses = {"network": total}
        against = 1 + int(torch.randint(len(views) - 1, (), generator=generator))
        if learning and count > 1:  # one image has nothing to be told from
            losses["generator"] = own.generator_loss(
                tasks[0],
                diversity(new, other, own.limit),
                F.mse_loss(self.inverses[number](new), pixels),
                separation(points[0], points[against].detach(), own.temperature),
            )
        yield losses


class Generator(nn.Module):
    """Images ``(N, 3, S, S)`` with pixels from 0 to 1 to such images.

    Four 3×3 convolutions of 16, 32, 64 and 3 channels; noise ``(N, 10)`` sets mean and deviation
    after the second one, if it is given.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, 3, padding=1) for before, after in pairwise((3, 16, 32, 64, 3))
        )
        self.style = nn.Linear(NOISE, 2 * 32)

    def forward(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        """See the class."""
        x = F.relu(self.layers[1](F.relu(self.layers[0](x))))
        if noise is not None:
            x = adain(x, *self.style(noise).chunk(2, 1))
        return torch.sigmoid(self.layers[3](F.relu(self.layers[2](x))))


def adain(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Instance-normalise features ``(N, C, H, W)``, to the scale 1 + γ and the shift β."""
    return (1 + gamma[..., None, None]) * F.instance_norm(x) + beta[..., None, None]


def diversity(a: Tensor, b: Tensor, limit: float) -> Tensor:
    """Mean absolute difference of images, of each counted up to a limit, as a scalar."""
    return (a - b).abs().mean((1, 2, 3)).clamp(max=limit).mean()


def separation(a: Tensor, b: Tensor, temperature: float) -> Tensor:
    """Mean over anchors of -log(1 - p), p being the share of the other view of its image.

    Embeddings of both views are ``(N, D)``.
    """
    count = len(a)
    scores = similarities(torch.stack([a, b]), temperature)
    anchors = torch.arange(2 * count, device=a.device)
    others = scores.scatter(1, anchors.roll(count)[:, None], -torch.inf)
    # log(1 - p), without the cancellation for p near 1
    return -(others.logsumexp(1) - scores.logsumexp(1)).mean()
