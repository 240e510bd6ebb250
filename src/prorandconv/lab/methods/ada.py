"""ADA (Volpi et al., NeurIPS 2018) and ME-ADA (Zhao et al., NeurIPS 2020): adversarial images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data import Samples
from ..data.samples import Batch
from ..models import features
from .ascent import AUTHORS_BATCH, Growing, Make, Stop, ascend
from .augmenting import normalised
from .contract import Classifying, Count, NonNegative, Positive
from .learner import Learner, Losses, RunInfo
from .losses import entropy


@dataclass(frozen=True)
class ADA(Classifying):
    """Learns from images that are hard for the network and near to the source's in its features.

    Algorithm 1 of the paper: at the start of an epoch, for the first few epochs, each image moves
    up the gradient of CE - γ · mean squared distance of the features and joins the training
    images. A step is taken in pixels from 0 to 1 and is a share of a mean over 32 images,
    as in the authors' code. There images are made every 100 steps of 32, from the first 10,000 of
    the shuffled whole: here every epoch, from the source.
    """

    label: ClassVar[str] = "ADA"
    growths: Count = 6
    """K: how often images are made"""
    ascent_steps: Count = 15
    """T_max: steps up the gradient"""
    step_size: Positive = 1.0
    """η: rate of these steps, for pixels from 0 to 1 and a mean over 32 images"""
    gamma: NonNegative = 1.0
    """γ, weight of the distance of features"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "digits": {
            "optimiser": "adam",
            "learning_rate": 1e-4,
            "batch_size": 32,
            "schedule": "constant",
            "epochs": 32,  # 10,001 steps
        },
        "pacs": {  # as the authors of AdvST ran it, but for their frozen batch normalisation
            "learning_rate": 1e-3,
            "batch_size": 32,
            "epochs": 50,
            "options": {"growths": 3, "ascent_steps": 50, "step_size": 50.0, "gamma": 10.0},
        },
    }

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network and its adversarial images."""
        return Adversarial(network, self, info)


@dataclass(frozen=True)
class MEADA(ADA):
    """ADA whose images also raise the entropy of the prediction: + η H(softmax(z)).

    The authors' port doubles the training images each time: here each time adds one from each of
    the source's. They keep the best mean accuracy over the targets, measured every 100 steps.
    """

    label: ClassVar[str] = "ME-ADA"
    growths: Count = 3
    """K: how often images are made"""
    eta: NonNegative = 10.0
    """η of the paper, weight of the entropy"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {"digits": ADA.authors["digits"]}


class Adversarial(Growing):
    """A network and a memory of adversarial images."""

    def __init__(self, network: nn.Module, method: ADA, info: RunInfo) -> None:
        super().__init__(network, info, method.growths)
        self.method = method

    def maker(self, source: Samples, generator: torch.Generator, check_stop: Stop) -> Make:
        """Images move up the objective."""
        return self.ascended

    def ascended(
        self, pixels: Tensor, labels: Tensor, further: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        """Move images up the objective.

        Args:
            pixels: in [0, 1], ``(N, 3, S, S)``.
            labels: theirs, ``(N,)``.
            further: pixels to what is added to the objective of each image, ``(N,)``.
        """
        own, form = self.method, self.info.format
        with torch.no_grad():
            originals, _ = features(self.network, normalised(pixels, form))

        def value(z: Tensor) -> Tensor:
            found, logits = features(self.network, normalised(z, form))
            eta = own.eta if isinstance(own, MEADA) else 0.0
            near = objective(logits, found, originals, labels, own.gamma, eta)
            return near if further is None else near + further(z)

        return ascend(value, pixels, own.ascent_steps, own.step_size / AUTHORS_BATCH)

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the cross-entropy of source and adversarial images."""
        x, y = self.joined(batch, generator)
        yield {"network": F.cross_entropy(self.network(x), y)}


def objective(
    logits: Tensor, found: Tensor, originals: Tensor, labels: Tensor, gamma: float, eta: float
) -> Tensor:
    """CE - γ · mean squared distance of the features + η · entropy, of each image.

    Logits are ``(N, K)``; features ``(N, D)``, also those of the images before the ascent.
    """
    task = F.cross_entropy(logits, labels, reduction="none")
    distance = (found - originals).square().mean(1)
    return task - gamma * distance + eta * entropy(logits)
