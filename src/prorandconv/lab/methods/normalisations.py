"""Other normalisations in a ResNet's early layers, and whitening."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

from ...errors import ProRandConvError, require

EPS = 1e-5
MOMENTUM = 0.99
NEWTON_STEPS = 5


class NormalisedBlock(nn.Module):
    """A residual block with a normalisation between the sum and its last ReLU.

    Args:
        block: torchvision's; its layers keep their names.
        norm: the normalisation.
    """

    def __init__(self, block: BasicBlock | Bottleneck, norm: nn.Module) -> None:
        super().__init__()
        self.convolutions = 2 if isinstance(block, BasicBlock) else 3
        for name, child in block.named_children():
            self.add_module(name, child)
        self.norm, self.downsample = norm, block.downsample

    def forward(self, x: Tensor) -> Tensor:
        """``(N, C, H, W)``, as the block."""
        out = x
        for number in range(1, self.convolutions + 1):
            conv, norm = (self.get_submodule(f"{kind}{number}") for kind in ("conv", "bn"))
            out = norm(conv(F.relu(out) if number > 1 else out))
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.relu(self.norm(out + shortcut))


def resnet(network: nn.Module) -> tuple[str, ResNet]:
    """The ResNet that a network is or has as its encoder, and what names in it begin with."""
    for name, module in network.named_modules():
        if isinstance(module, ResNet):
            return f"{name}." if name else "", module
    raise ProRandConvError.about(
        "network", type(network).__name__, "a ResNet, or a network with one as its encoder"
    )


def early_layers(network: nn.Module, x: Tensor) -> Tensor:
    """What layer2 of the ResNet makes of normalised images."""
    _, encoder = resnet(network)
    stem = encoder.maxpool(encoder.relu(encoder.bn1(encoder.conv1(x))))
    early: Tensor = encoder.layer2(encoder.layer1(stem))
    return early


def normalise(network: nn.Module, make: Callable[[int], nn.Module]) -> dict[str, int]:
    """Put normalisations into a network, in place.

    Args:
        network: with a ResNet.
        make: one, of its number of channels.

    Returns:
        Names of the normalisations in the network, and their numbers of channels.
    """
    prefix, encoder = resnet(network)
    found = {f"{prefix}bn1": encoder.bn1.num_features}
    encoder.bn1 = make(encoder.bn1.num_features)
    encoder.relu = nn.ReLU()  # not in place: what a normalisation gives may be looked at
    for name in ("layer1", "layer2"):
        stage = encoder.get_submodule(name)
        *_, (last, block) = stage.named_children()
        norms = [one for one in block.children() if isinstance(one, nn.BatchNorm2d)]
        stage.register_module(last, NormalisedBlock(block, make(norms[-1].num_features)))
        found[f"{prefix}{name}.{last}.norm"] = norms[-1].num_features
    return found


class Whitening(nn.Module):
    """Groups of channels are whitened: P (x - μ), P being the inverse root of their covariance.

    Args:
        channels: how many.
        group: how many are whitened together.
        switched: whether moments of each image are mixed with those of the mini-batch.
    """

    running_mean: Tensor
    running_covariance: Tensor

    def __init__(self, channels: int, group: int, switched: bool) -> None:
        super().__init__()
        fits = group >= 1 and channels % group == 0
        require("group", group, fits, f"a divisor of {channels} channels")
        self.group, self.switched, groups = group, switched, channels // group
        self.weight, self.bias = (
            nn.Parameter(make(channels)) for make in (torch.ones, torch.zeros)
        )
        if switched:
            self.mean_weights, self.covariance_weights = (
                nn.Parameter(torch.ones(2)) for _ in range(2)
            )
        self.register_buffer("running_mean", torch.zeros(groups, group))
        self.register_buffer("running_covariance", torch.eye(group).repeat(groups, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Whiten ``(N, C, H, W)``, in evaluation by running moments of the mini-batches."""
        with torch.autocast(x.device.type, enabled=False):
            exact = x.to(torch.promote_types(x.dtype, torch.float32))
            return self._whitened(exact).to(x.dtype)

    def _whitened(self, x: Tensor) -> Tensor:
        columns = x.view(len(x), -1, self.group, x[0, 0].numel())  # (N, groups, group, HW)
        mean, covariance = self._batch_moments(columns)
        if self.switched:
            own = moments(columns)
            means, covariances = self.mean_weights.softmax(0), self.covariance_weights.softmax(0)
            mean = means[0] * mean + means[1] * own[0]
            covariance = covariances[0] * covariance + covariances[1] * own[1]
        white = inverse_root(covariance) @ (columns - mean[..., None])
        return white.view_as(x) * self.weight[:, None, None] + self.bias[:, None, None]

    def _batch_moments(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        if not self.training:
            return self.running_mean, self.running_covariance
        mean, covariance = moments(columns.permute(1, 2, 0, 3).flatten(2))
        with torch.no_grad():
            self.running_mean.lerp_(mean, 1 - MOMENTUM)
            self.running_covariance.lerp_(covariance, 1 - MOMENTUM)
        return mean, covariance


class IterNorm(Whitening):
    """Whitening by the mini-batch alone."""

    def __init__(self, channels: int, group: int = 64) -> None:
        super().__init__(channels, group, switched=False)


class SwitchableWhitening(Whitening):
    """Whitening by the mini-batch and each image, mixed by learnt weights."""

    def __init__(self, channels: int, group: int = 16) -> None:
        super().__init__(channels, group, switched=True)


def moments(columns: Tensor) -> tuple[Tensor, Tensor]:
    """Mean ``(..., C)`` and covariance ``(..., C, C)`` of the columns of ``(..., C, M)``."""
    mean = columns.mean(-1)
    centred = columns - mean[..., None]
    return mean, centred @ centred.transpose(-1, -2) / columns.shape[-1]


def inverse_root(covariance: Tensor) -> Tensor:
    """(Σ + ε I)^-½ of ``(..., C, C)``, by Newton's iteration P ← 1.5 P - .5 P³ Σ / tr Σ."""
    one = torch.eye(covariance.shape[-1], dtype=covariance.dtype, device=covariance.device)
    covariance = covariance + EPS * one
    trace = covariance.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    root = one.expand_as(covariance)
    for _ in range(NEWTON_STEPS):
        root = 1.5 * root - 0.5 * root @ root @ root @ covariance / trace
    return root / trace.sqrt()
