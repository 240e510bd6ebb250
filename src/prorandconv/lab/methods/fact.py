"""FACT (Xu et al., CVPR 2021): amplitudes of spectra are mixed; a teacher keeps it consistent."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data import ImageFormat
from ..data.samples import Batch
from .augmenting import normalised, unnormalised
from .contract import Classifying, Count, NonNegative, Positive, Probability
from .fourier import amplitude_phase, with_amplitude
from .learner import Augment, Learner, Losses, RunInfo


@dataclass(frozen=True)
class FACT(Classifying):
    """Images are joined by versions with another image's amplitudes mixed in (AM in the paper).

    Loss: mean CE of originals and mixed images, and β times the KL divergences of the student's
    predictions for one from a teacher's for the other, both ways (co-teacher regularisation). The
    teacher is the moving average of the student. As in the authors' code, softmax has a
    temperature without its square as a factor, the teacher's batch normalisation is in training
    mode, and β rises over the first epochs. There the partner is drawn from all images and pixels
    are rounded: here it is another image of the mini-batch, and pixels are clamped.
    """

    label: ClassVar[str] = "FACT"
    strength: Probability = 1.0
    """λ is drawn from U(0, this)"""
    consistency: NonNegative = 2.0
    """β, the weight of both divergences"""
    temperature: Positive = 10.0
    """T of the softmax in them"""
    rise: Count = 5
    """epochs over which β rises"""
    decay: Probability = 0.9995
    """of the teacher's moving average"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pacs": {
            "network": "resnet50",  # no other is published
            "optimiser": "nesterov",
            "batch_size": 32,  # 64 images with the mixed ones
            "schedule": "step",
            "epochs": 50,
        }
    }

    def augmentation(self, format: ImageFormat) -> Augment:
        """Amplitudes of the mini-batch mixed by one draw."""

        def mix(x: Tensor, generator: torch.Generator) -> Tensor:
            share = self.strength * torch.rand(len(x), generator=generator)
            order = torch.randperm(len(x), generator=generator)
            # Spectra are computed in full precision, whatever the network computes in.
            with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
                pixels = unnormalised(x.float(), format)
                mixed = amplitude_mixed(pixels, share.to(x.device), order.to(x.device))
                return normalised(mixed.clamp(0, 1), format)

        return mix

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network and its teacher."""
        return CoTeacher(network, self, info)


class CoTeacher(Learner):
    """A network and the moving average of its parameters."""

    done: Tensor

    def __init__(self, network: nn.Module, method: FACT, info: RunInfo) -> None:
        super().__init__(network)
        self.method, self.steps = method, info.steps
        self.augment = method.augmentation(info.format)
        self.teacher = copy.deepcopy(network).requires_grad_(False)
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Learn from originals and mixed images; then the teacher follows."""
        own, images = self.method, torch.cat([batch.images, self.augment(batch.images, generator)])
        with torch.no_grad():
            wanted = torch.cat(self.teacher(images).chunk(2)[::-1])  # of the other version
        found = self.network(images)
        task = F.cross_entropy(found, batch.labels.repeat(2))
        # Twice the mean over all: the sum of both directions.
        distance = 2 * consistency(wanted, found, own.temperature)
        weight = own.consistency * rise(int(self.done) // self.steps, own.rise)
        yield {"network": task + weight * distance}
        kept = min(1 - 1 / (int(self.done) + 1), own.decay)
        self.done += 1
        with torch.no_grad():
            for old, new in zip(self.teacher.parameters(), self.network.parameters(), strict=True):
                old.mul_(kept).add_(new, alpha=1 - kept)


def amplitude_mixed(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
    """Mix the amplitudes of each image's spectrum with another image's, and keep its phase.

    Pixels are ``(N, C, H, W)``; ``share`` is λ, of the other image, and ``order`` the others.
    """
    amplitude, phase = amplitude_phase(x)
    other = share.view(-1, 1, 1, 1)
    return with_amplitude((1 - other) * amplitude + other * amplitude[order], phase)


def consistency(teacher: Tensor, student: Tensor, temperature: float) -> Tensor:
    """Mean over images of KL(teacher || student); both are logits ``(N, K)``."""
    wanted = (teacher.detach() / temperature).log_softmax(1)
    found = (student / temperature).log_softmax(1)
    return F.kl_div(found, wanted, reduction="batchmean", log_target=True)


def rise(epoch: float, length: int) -> float:
    """The factor of a weight that rises over the first epochs: exp(-5 (1 - epoch / length)²)."""
    return math.exp(-5 * (1 - min(epoch / length, 1)) ** 2)
