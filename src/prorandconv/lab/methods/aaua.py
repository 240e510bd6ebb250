"""AAUA and AAD (AdvFrequency): adversarial changes of the images' amplitude spectra."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.samples import Batch
from .ascent import frozen
from .augmenting import divergence, normalised, unnormalised
from .contract import Classifying, Count, Positive, Probability, Style
from .fourier import amplitude_phase, with_amplitude
from .learner import Learner, Losses, RunInfo

SMALL = 1e-4
Network = Callable[[Tensor], Tensor]
"""Pixels from 0 to 1 ``(N, 3, S, S)`` -> logits ``(N, K)``."""


@dataclass(frozen=True)
class AAUA(Classifying):
    """Cross-entropy of the images and three views of them, and consistency of all four.

    One view has moved moments of its low amplitudes (AAUA): by d times their deviation over the
    mini-batch, d ~ N(0, 1) and then some steps along the sign of the gradient of CE. In two views
    amplitudes are dropped (AAD) with a probability that is their gradient, scaled to [0, 1] for
    each channel. The share λ of the spectrum is drawn as in the paper (in the authors' code it is
    .1). Their published training script is a stub: its lines that are commented out have the four
    cross-entropies and the divergence. There images are divided by the largest value of their
    mini-batch: here they are clamped to [0, 1]. There the box of low amplitudes is not symmetric,
    and moduli of complex images are taken: here it is, and images are real.
    """

    largest: Probability = 0.5
    """λ, the share of the spectrum's sides that is low, is drawn from U(0, this)"""
    ascent_steps: Count = 5
    """steps of the directions d"""
    step_size: Positive = 1.0
    """their size, as only the sign of the gradient counts"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pacs": {"optimiser": "adam", "learning_rate": 1e-4, "batch_size": 32, "epochs": 60}
    }

    @property
    def style(self) -> Style:
        """Its label."""
        return Style("AAUA+AAD")

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network, which is its own adversary."""
        return AdversarialAmplitudes(network, self, info)


class AdversarialAmplitudes(Learner):
    """A network that learns from images with other amplitudes."""

    def __init__(self, network: nn.Module, method: AAUA, info: RunInfo) -> None:
        super().__init__(network)
        self.method, self.info = method, info

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the loss of the images and three views, in one forward pass."""
        x, y = batch.images, batch.labels
        # Images are computed in full precision, whatever the network computes in.
        with torch.autocast(x.device.type, enabled=False), frozen(self.network):
            views = self.views(unnormalised(x, self.info.format), y, generator)
        images = torch.cat((x, *(normalised(view, self.info.format) for view in views)))
        yield {"network": aaua_loss(self.network(images).chunk(4), y)}

    def views(self, x: Tensor, y: Tensor, generator: torch.Generator) -> list[Tensor]:
        """One view with moved moments, and two with dropped amplitudes; pixels like ``x``."""
        own = self.method

        def network(pixels: Tensor) -> Tensor:
            logits: Tensor = self.network(normalised(pixels, self.info.format))
            return logits

        share = own.largest * float(torch.rand((), generator=generator))
        noise = torch.randn(2, *x.shape[:2], generator=generator).to(x.device)
        noise = ascended(x, y, network, noise, share, own.ascent_steps, own.step_size)
        gradient = amplitude_gradient(x, y, network)
        uniform = torch.rand(2, *x.shape, generator=generator).to(x.device)
        with torch.no_grad():
            return [uncertain(x, noise, share), *(dropped(x, gradient, one) for one in uniform)]


def low_frequencies(height: int, width: int, share: float, device: torch.device) -> Tensor:
    """Whether a frequency is at most λ of the highest one, both ways ``(H, W)``; at least 1."""
    near = []
    for side in (height, width):
        place = torch.arange(side, device=device)
        near.append(place.minimum(side - place) <= max(int(share * side / 2), 1))
    return near[0][:, None] & near[1]


def uncertain(x: Tensor, noise: Tensor, share: float) -> Tensor:
    """Images whose low amplitudes have moved means and deviations.

    Args:
        x: pixels from 0 to 1, ``(N, C, H, W)``.
        noise: by how many deviations over the mini-batch the means and the deviations of the
            amplitudes move, ``(2, N, C)``.
        share: λ, of the spectrum.
    """
    amplitude, phase = amplitude_phase(x)
    height, width = x.shape[2:]
    low = low_frequencies(height, width, share, x.device)
    inside = amplitude[..., low]
    moments = torch.stack((inside.mean(2), inside.std(2)))
    moved = moments + noise * (moments.std(1, correction=0, keepdim=True) + SMALL)
    (mean, std), (new_mean, new_std) = moments[..., None, None], moved[..., None, None]
    changed = (amplitude - mean) / (std + SMALL) * (new_std + SMALL) + new_mean
    return with_amplitude(torch.where(low, changed, amplitude), phase).clamp(0, 1)


def ascended(
    x: Tensor,
    labels: Tensor,
    network: Network,
    noise: Tensor,
    share: float,
    steps: int,
    rate: float,
) -> Tensor:
    """The noise after some steps along the sign of the gradient of CE.

    Args:
        x: pixels from 0 to 1, ``(N, C, H, W)``.
        labels: ``(N,)``.
        network: gives logits of pixels.
        noise: at first, ``(2, N, C)``.
        share: λ, of the spectrum.
        steps: how many.
        rate: their size.
    """
    for _ in range(steps):
        noise = noise.detach().requires_grad_()
        loss = F.cross_entropy(network(uncertain(x, noise, share)), labels)
        noise = noise + rate * torch.autograd.grad(loss, noise)[0].sign()
    return noise.detach()


def amplitude_gradient(x: Tensor, labels: Tensor, network: Network) -> Tensor:
    """Gradient of CE by the amplitudes of pixels from 0 to 1, ``(N, C, H, W)``."""
    amplitude, phase = amplitude_phase(x)
    amplitude.requires_grad_()
    loss = F.cross_entropy(network(with_amplitude(amplitude, phase).clamp(0, 1)), labels)
    return torch.autograd.grad(loss, amplitude)[0]


def dropped(x: Tensor, gradient: Tensor, uniform: Tensor) -> Tensor:
    """Images without the amplitudes whose scaled gradient is above a number from U(0, 1).

    Args:
        x: pixels from 0 to 1, ``(N, C, H, W)``.
        gradient: by their amplitudes; scaled to [0, 1] for each image and channel here.
        uniform: a number for each amplitude.
    """
    low, high = (one((2, 3), keepdim=True) for one in (gradient.amin, gradient.amax))
    scaled = (gradient - low) / (high - low).clamp_min(torch.finfo(gradient.dtype).tiny)
    amplitude, phase = amplitude_phase(x)
    return with_amplitude(torch.where(scaled > uniform, 0, amplitude), phase).clamp(0, 1)


def aaua_loss(logits: tuple[Tensor, ...], labels: Tensor) -> Tensor:
    """CE of each view + Jensen-Shannon divergence of all.

    Args:
        logits: of each view, ``(N, K)``.
        labels: ``(N,)``.
    """
    tasks = torch.stack([F.cross_entropy(one, labels) for one in logits])
    return tasks.sum() + divergence(logits)
