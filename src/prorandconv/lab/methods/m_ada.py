"""M-ADA (Qiao et al., CVPR 2020): adversarial images far from the source, learnt by meta-steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data import Samples
from ..data.samples import Batch
from .ada import ADA, Adversarial
from .ascent import AUTHORS_BATCH, Make, Stop
from .augmenting import torch_seeded, unnormalised
from .contract import Count, NonNegative, Positive
from .learner import Learner, Losses, RunInfo

CODE = 20
"""Dimensions of the autoencoder's code."""

CRITIC = 100.0
"""Weight of the critic's scores."""


@dataclass(frozen=True)
class MADA(ADA):
    """ADA whose images may lie far from the source, and whose steps look ahead.

    The ascent goes up L_task - γ L_const + β L_relax: CE, the distance of features, and the mean
    squared distance of what a Wasserstein autoencoder makes of the image before and after (in the
    paper: of the image and what it makes of it). It is trained before images are made: first on
    the source, then on the newest images. A step minimises
    (CE(source; θ) + CE(made images; θ - η ∇CE(source; θ))) / 2, with the second derivative.

    The authors' code adds the log density of the prior's sample to both scores of the critic, takes
    a gradient of a graph that it has freed, and starts some of the later ascents at earlier images:
    here each score has its own density, and all ascents start at the source.
    """

    label: ClassVar[str] = "M-ADA"
    growths: Count = 3
    """K: how often images are made"""
    ascent_steps: Count = 25
    """T_max: steps up the gradient"""
    beta: NonNegative = 2000.0
    """β, weight of the relaxation"""
    inner_rate: Positive = 1e-4
    """η: rate of the look-ahead"""
    coder_epochs: Count = 20
    """epochs of an autoencoder, by Adam with a rate of 0.001"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {"digits": ADA.authors["digits"]}

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network and its adversarial images."""
        return LookingAhead(network, self, info)


class LookingAhead(Adversarial):
    """A network and its adversarial images."""

    method: MADA

    def maker(self, source: Samples, generator: torch.Generator, check_stop: Stop) -> Make:
        """Train an autoencoder; then images move up the objective."""
        newest = self.images[len(self.images) - len(self.images) // max(int(self.grown), 1) :]
        if not len(newest):
            newest = torch.cat([self._bytes(x) for x, _ in self.passing(source)])
        with torch_seeded(generator):
            coder = Autoencoder(newest[0].numel())
        device = next(self.network.parameters()).device
        coder.to(device).learn(newest, self.method.coder_epochs, generator, check_stop)

        def make(pixels: Tensor, labels: Tensor) -> Tensor:
            usual = coder(pixels)[1]
            beta = self.method.beta
            return self.ascended(pixels, labels, lambda z: beta * relaxation(coder(z)[1], usual))

        return make

    def _bytes(self, x: Tensor) -> Tensor:
        return (unnormalised(x, self.info.format) * 255).round().byte().cpu()

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Look ahead on images that are made; before there are some, plain cross-entropy."""
        x, y = batch.images, batch.labels
        if not len(self.labels):
            yield {"network": F.cross_entropy(self.network(x), y)}
            return
        made = self.recalled(len(x), generator, x.device)
        yield {"network": meta_loss(self.network, x, y, *made, self.method.inner_rate)}


class Autoencoder(nn.Module):
    """Of Wasserstein's kind: images of ``size`` numbers to a code of N(0, 1) and back; a critic."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 400), nn.ReLU(), nn.Linear(400, CODE))
        self.decoder = nn.Sequential(
            nn.Linear(CODE, 400), nn.ReLU(), nn.Linear(400, size), nn.Sigmoid()
        )
        self.critic = nn.Sequential(nn.Linear(CODE, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The codes of images ``(N, ...)`` and what they are decoded to, ``(N, size)``."""
        code = self.encoder(x.flatten(1))
        return code, self.decoder(code)

    def score(self, codes: Tensor) -> Tensor:
        """How much the critic takes codes ``(N, D)`` for samples of the prior, ``(N,)``."""
        return with_density(self.critic(codes).squeeze(1), codes)

    def learn(
        self, images: Tensor, epochs: int, generator: torch.Generator, check_stop: Stop
    ) -> None:
        """Train on images, uint8 ``(M, 3, S, S)``; afterwards no weight has a gradient."""
        coder = [*self.encoder.parameters(), *self.decoder.parameters()]
        weights = coder, [*self.critic.parameters()]
        optimisers = [torch.optim.Adam(learnt, lr=1e-3) for learnt in weights]
        device = coder[0].device
        for _ in range(epochs):
            check_stop()
            order = torch.randperm(len(images), generator=generator)
            for part in torch.split(order, AUTHORS_BATCH):
                pixels = images[part].to(device).flatten(1) / 255
                code, decoded = self(pixels)
                prior = torch.randn(code.shape, generator=generator).to(device)
                losses = autoencoder_losses(self.score(code), self.score(prior), decoded, pixels)
                # Both gradients first: neither step may change the graph of the other.
                gradients = [
                    torch.autograd.grad(loss, learnt, retain_graph=True)
                    for loss, learnt in zip(losses, weights, strict=True)
                ]
                for one, learnt, found in zip(optimisers, weights, gradients, strict=True):
                    for weight, gradient in zip(learnt, found, strict=True):
                        weight.grad = gradient
                    one.step()
        self.requires_grad_(False)


def autoencoder_losses(
    coded: Tensor, drawn: Tensor, decoded: Tensor, pixels: Tensor
) -> tuple[Tensor, Tensor]:
    """What the autoencoder and its critic minimise, as scalars.

    Scores of codes and of samples of the prior are ``(N,)``, images from 0 to 1 ``(N, P)``.
    """
    ones, bce = torch.ones_like(coded), F.binary_cross_entropy_with_logits
    task = F.binary_cross_entropy(decoded, pixels, reduction="sum")
    critic = bce(drawn, ones) + bce(coded, torch.zeros_like(coded))
    return task + CRITIC * bce(coded, ones), CRITIC * critic


def with_density(scores: Tensor, codes: Tensor) -> Tensor:
    """Scores ``(N,)`` with the log densities of N(0, 1) at their codes ``(N, D)`` added."""
    return scores - (codes.square() + math.log(2 * math.pi)).sum(1) / 2


def relaxation(found: Tensor, usual: Tensor) -> Tensor:
    """Mean squared distance of what images are decoded to, both ``(N, P)``, for each image."""
    return (found - usual).square().mean(1)


def meta_loss(
    network: nn.Module, x: Tensor, y: Tensor, made: Tensor, labels: Tensor, rate: float
) -> Tensor:
    """Mean of CE(source) and of CE(made images) after a step down the former.

    The step, by ``rate``, is differentiated too. Images and their labels are x and y of the
    source, and those that were made.
    """
    task = F.cross_entropy(network(x), y)
    names, weights = zip(*network.named_parameters(), strict=True)
    gradients = torch.autograd.grad(task, weights, create_graph=True)
    ahead = {n: w - rate * g for n, w, g in zip(names, weights, gradients, strict=True)}
    after = F.cross_entropy(torch.func.functional_call(network, ahead, (made,)), labels)
    return (task + after) / 2
