"""MixStyle (Zhou et al., 2021): statistics of features are mixed between images."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import ProRandConvError, require
from ..models import hooked
from .augmenting import numpy_generator
from .contract import Method
from .learner import Learner, OneLoss, RunInfo

EPS = 1e-6
STAGES = ("layer1", "layer2", "layer3")
POOLINGS = (nn.MaxPool2d, nn.AvgPool2d)


@dataclass(frozen=True)
class MixStyle(Method):
    """After some layers, means and deviations of features are mixed with those of other images.

    The network stays as it is: the mixing happens while the loss is computed, never in evaluation.
    """

    p: float = 0.5
    """probability that a layer's features of a mini-batch are mixed"""
    alpha: float = 0.1
    """shares are drawn from Beta(α, α)"""
    layers: tuple[str, ...] = ()
    """after which layers; none given: layer1 to layer3 of a ResNet, else the first pooling"""

    def __post_init__(self) -> None:
        require("p", self.p, 0 <= self.p <= 1, "a probability")
        require("alpha", self.alpha, self.alpha > 0, "a number above 0")

    @property
    def tasks(self) -> tuple[str, ...]:
        """Images with one class only."""
        return ("classification",)

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """Cross-entropy, while styles are mixed."""

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            def mix(features: Tensor) -> Tensor:
                if torch.rand((), generator=generator) >= self.p:
                    return features
                drawn = numpy_generator(generator).beta(self.alpha, self.alpha, len(features))
                share = torch.from_numpy(drawn).to(features.device, torch.float32)
                order = torch.randperm(len(features), generator=generator)
                return mixed_style(features, share, order.to(features.device))

            with hooked(network, self.layers or usual_layers(network), mix):
                return F.cross_entropy(network(x), y)

        return OneLoss(network, loss)


def mixed_style(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
    """Give each image a blend of its own mean and deviation and another image's, by channel.

    Args:
        x: features ``(N, C, H, W)``.
        share: of the own statistics, ``(N,)``.
        order: for each image, the other one, ``(N,)``.
    """
    features = x.float()
    mean = features.mean((2, 3), keepdim=True).detach()
    std = (features.var((2, 3), keepdim=True) + EPS).sqrt().detach()
    own = share.view(-1, 1, 1, 1)
    new_mean = own * mean + (1 - own) * mean[order]
    new_std = own * std + (1 - own) * std[order]
    return ((features - mean) / std * new_std + new_mean).to(x.dtype)


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
