"""MixStyle (Zhou et al., 2021), and what changes features in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import ProRandConvError
from ..models import hooked
from .augmenting import numpy_generator
from .contract import Classifying, Positive, Probability
from .learner import Learner, OneLoss, RunInfo

EPS = 1e-6
STAGES = ("layer1", "layer2", "layer3")
POOLINGS = (nn.MaxPool2d, nn.AvgPool2d)


@dataclass(frozen=True)
class Restyling(Classifying, ABC):
    """After some layers features get other statistics, while the loss is computed.

    The network stays as it is, and so does its evaluation.
    """

    p: Probability = 0.5
    """probability that a layer's features of a mini-batch are changed"""
    layers: tuple[str, ...] = ()
    """after which layers; none given: those that the paper has, or their like"""

    @abstractmethod
    def restyled(self, features: Tensor, generator: torch.Generator) -> Tensor:
        """Features of a layer ``(N, C, H, W)`` with other statistics."""

    def usual_layers(self, network: nn.Module) -> tuple[str, ...]:
        """The layers of a network, if none are given."""
        return usual_layers(network)

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """Cross-entropy, while features are changed."""
        layers = self.layers or self.usual_layers(network)

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            def change(features: Tensor) -> Tensor:
                skipped = torch.rand((), generator=generator) >= self.p
                if skipped or features[0, 0].numel() < 2:  # one position has no deviation
                    return features
                return self.restyled(features, generator)

            with hooked(network, layers, change):
                return F.cross_entropy(network(x), y)

        return OneLoss(network, loss)


@dataclass(frozen=True)
class MixStyle(Restyling):
    """After some layers, means and deviations of features are mixed with those of other images.

    By default these are layer1 to layer3 of a ResNet, else the first pooling.
    """

    alpha: Positive = 0.1
    """shares are drawn from Beta(α, α)"""

    def restyled(self, features: Tensor, generator: torch.Generator) -> Tensor:
        """Draw a share and another image for each one."""
        drawn = numpy_generator(generator).beta(self.alpha, self.alpha, len(features))
        share = torch.from_numpy(drawn).to(features.device, torch.float32)
        order = torch.randperm(len(features), generator=generator)
        return self.blend(features, share, order.to(features.device))

    def blend(self, x: Tensor, share: Tensor, order: Tensor) -> Tensor:
        """See :func:`mixed_style`."""
        return mixed_style(x, share, order)


def mixed_style(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
    """Give each image a blend of its own mean and deviation and another image's, by channel.

    Args:
        x: features ``(N, C, H, W)``.
        share: of the own statistics, ``(N,)``.
        order: for each image, the other one, ``(N,)``.
    """
    exact, own = full_precision(x), share.view(-1, 1, 1, 1)
    mean, std = (one.detach() for one in statistics(exact))
    new_mean = own * mean + (1 - own) * mean[order]
    new_std = own * std + (1 - own) * std[order]
    return ((exact - mean) / std * new_std + new_mean).to(x.dtype)


def full_precision(x: Tensor) -> Tensor:
    """At least float32, whatever the network computes in."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each image and channel, ``(N, C, 1, 1)``."""
    return x.mean((2, 3), keepdim=True), (x.var((2, 3), keepdim=True) + EPS).sqrt()


def usual_layers(network: nn.Module) -> tuple[str, ...]:
    """The stages of a ResNet; of another network the first pooling: after LeNet's first block."""
    names = dict(network.named_modules())
    if all(stage in names for stage in STAGES):
        return STAGES
    for name, module in names.items():
        if isinstance(module, POOLINGS):
            return (name,)
    raise ProRandConvError.about(
        "layers", (), f"names of layers to mix after, as {type(network).__name__} has no pooling"
    )
