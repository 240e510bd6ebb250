"""AdvST (Zheng et al., AAAI 2024): adversarial parameters of chains of standard operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from ..data import Samples
from ..data.samples import Batch
from ..models import features, last_linear
from .ada import objective
from .ascent import Growing, Make
from .augmenting import normalised
from .contract import Classifying, Count, NonNegative, Positive, Style
from .learner import Learner, Losses, MakeOptimiser, RunInfo
from .losses import entropy, supervised_contrast
from .operations import OPERATIONS

LONGEST = 3
"""Operations in a chain, at most."""
TURNING_POINT = 0.1
"""An ascent ends when its objective changes by no more than this."""
PROJECTION, TEMPERATURE = 128, 0.07

Change = tuple[str, Tensor, Tensor | None]
"""An operation by name, its parameters ``(N, k)``, and what else of it is random."""


@dataclass(frozen=True)
class AdvST(Classifying):
    """Learns from the source, and from images that chains of operations have made hard.

    For each mini-batch of the source a chain of one to three operations is drawn, and parameters
    for each image. They ascend by RMSprop on CE - γ · distance of features (Eq. 6). The newest
    generations of images and the source are learnt from by CE + β · supervised contrast of
    projected features - η · entropy (Eq. 9); the next generation follows when all of them might
    have been seen once. In the authors' code an epoch goes over all of them, in stored order, and
    the ring overwrites the source too: here an epoch has as many steps as one of the source, whose
    images stay, and draws from all. Images are clamped to [0, 1] after each operation
    as in their code for PACS, and kept with 8 bits; the bits of an image stay for the ascent. Their
    names "last" and "validation" are the best epoch on test images and images trained on.
    """

    kept: Count = 5
    """generations of changed images that are kept"""
    ascent_steps: Count = 20
    """largest number of steps of the parameters"""
    step_size: Positive = 0.2
    """their learning rate"""
    gamma: NonNegative = 100.0
    """γ, weight of the distance of features in the ascent"""
    ascent_entropy: NonNegative = 0.0
    """weight of the entropy in the ascent; above 0: AdvST-ME"""
    contrast: NonNegative = 1.0
    """β, weight of the supervised contrast"""
    eta: NonNegative = 10.0
    """η, weight of the entropy that is kept high"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "digits": {
            "optimiser": "adam",
            "learning_rate": 1e-4,
            "batch_size": 32,
            "schedule": "constant",
            "epochs": 285,  # 50 over up to 6 sets; there the rate is divided by 10 in the middle
        },
        "pacs": {
            "optimiser": "nesterov",
            "learning_rate": 1e-3,
            "weight_decay": 5e-5,
            "batch_size": 32,
            "epochs": 107,  # 50 of 100 steps, on Photo; there with frozen batch normalisation
            "options": {
                "kept": 3,
                "ascent_steps": 50,
                "step_size": 5.0,
                "gamma": 10.0,
                "ascent_entropy": 10.0,
                "eta": 0.01,
            },
        },
    }

    @property
    def style(self) -> Style:
        """Its label."""
        return Style("AdvST")

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network, a layer that projects its features, and the changed images."""
        return AdversarialChains(network, self, info)


class AdversarialChains(Growing):
    """A network, a projection of its features, and a memory of changed images."""

    def __init__(self, network: nn.Module, method: AdvST, info: RunInfo) -> None:
        super().__init__(network, info, info.epochs, kept=method.kept)
        self.method = method
        self.projection = nn.Linear(last_linear(network).in_features, PROJECTION)

    def optimisers(self, make: MakeOptimiser) -> dict[str, Optimizer]:
        """One for the network and the projection."""
        return {"network": make([*self.network.parameters(), *self.projection.parameters()])}

    def growing(self, epoch: int) -> bool:
        """Whether as many epochs are over as there are sets."""
        return epoch >= int(self.grown) + self.sets

    def maker(
        self, source: Samples, generator: torch.Generator, check_stop: Callable[[], None]
    ) -> Make:
        """Chains of operations whose parameters ascend."""
        own = self.method

        def network(pixels: Tensor) -> tuple[Tensor, Tensor]:
            return features(self.network, normalised(pixels, self.info.format))

        def make(pixels: Tensor, labels: Tensor) -> Tensor:
            chain = draw_chain(len(pixels), pixels.shape[-1], generator)
            chain = ascended(
                pixels,
                labels,
                network,
                [_moved(change, pixels.device) for change in chain],
                gamma=own.gamma,
                eta=own.ascent_entropy,
                steps=own.ascent_steps,
                rate=own.step_size,
            )
            with torch.no_grad():
                return changed(pixels, chain)

        return make

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the loss of source and changed images."""
        own, (x, y) = self.method, self.joined(batch, generator)
        found, logits = features(self.network, x)
        parts = logits, self.projection(found), y
        yield {"network": advst_loss(*parts, own.contrast, own.eta, TEMPERATURE)}


def _moved(change: Change, device: torch.device) -> Change:
    name, parameter, noise = change
    return name, parameter.to(device), None if noise is None else noise.to(device)


def advst_loss(
    logits: Tensor,
    projections: Tensor,
    labels: Tensor,
    contrast: float,
    eta: float,
    temperature: float,
) -> Tensor:
    """CE + β · supervised contrast - η · entropy.

    Args:
        logits: ``(N, K)``.
        projections: of the features, ``(N, D)``.
        labels: ``(N,)``.
        contrast: β.
        eta: η.
        temperature: of the contrast.
    """
    pulled = supervised_contrast(projections[None], labels, temperature)
    return F.cross_entropy(logits, labels) + contrast * pulled - eta * entropy(logits).mean()


def draw_chain(count: int, side: int, generator: torch.Generator) -> list[Change]:
    """Draw up to three different operations, HSV only as the first, and where they begin.

    Args:
        count: number of images.
        side: of an image in pixels.
        generator: on the CPU.
    """
    length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
    while True:
        order = torch.randperm(len(OPERATIONS), generator=generator)[:length].tolist()
        names = [list(OPERATIONS)[place] for place in order]
        if "hsv" not in names[1:]:
            break
    chain: list[Change] = []
    for name in names:
        one = OPERATIONS[name]
        share = torch.rand(count, one.parameters, generator=generator)
        noise = one.draw(count, side, generator) if one.draw else None
        chain.append((name, one.low + (one.high - one.low) * share, noise))
    return chain


def changed(x: Tensor, chain: Sequence[Change]) -> Tensor:
    """Pixels from 0 to 1 behind a chain of operations, clamped after each."""
    for name, parameter, noise in chain:
        x = OPERATIONS[name].apply(x, parameter, noise)
    return x


def ascended(
    x: Tensor,
    labels: Tensor,
    network: Callable[[Tensor], tuple[Tensor, Tensor]],
    chain: Sequence[Change],
    *,
    gamma: float,
    eta: float,
    steps: int,
    rate: float,
) -> list[Change]:
    """The chain with parameters that have moved up CE - γ · distance + η · entropy.

    Args:
        x: pixels from 0 to 1, ``(N, 3, S, S)``.
        labels: ``(N,)``.
        network: gives features and logits of pixels; it stays as it is.
        chain: at first.
        gamma: γ.
        eta: η.
        steps: largest number of steps.
        rate: learning rate.
    """
    learnt = [parameter.detach().clone().requires_grad_() for _, parameter, _ in chain]
    moved = [(name, one, noise) for (name, _, noise), one in zip(chain, learnt, strict=True)]
    with torch.no_grad():
        originals, _ = network(x)
    rmsprop = torch.optim.RMSprop(learnt, lr=rate, maximize=True)
    before = 0.0
    for _ in range(steps if any(one.numel() for one in learnt) else 0):
        with torch.enable_grad():
            found, logits = network(changed(x, moved))
            value = objective(logits, found, originals, labels, gamma, eta).mean()
        gradients = torch.autograd.grad(value, learnt, allow_unused=True)
        for one, gradient in zip(learnt, gradients, strict=True):
            one.grad = gradient
        rmsprop.step()
        if abs(value.item() - before) <= TURNING_POINT:
            break
        before = value.item()
    return [(name, one.detach(), noise) for name, one, noise in moved]
