"""DSU (Li et al., ICLR 2022): statistics of features are uncertain."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .contract import Style
from .mixstyle import EPS, POOLINGS, Restyling, full_precision, statistics, usual_layers


@dataclass(frozen=True)
class DSU(Restyling):
    """After some layers, means and deviations of features are drawn around their own.

    Noise is Gaussian and as wide as the statistic's deviation over the mini-batch (Eq. 3 to 7),
    which the authors' code divides by N - 1 and which here, as in the paper, is divided by N. In
    their code it follows the first convolution, the first pooling and every stage of a ResNet.
    """

    @property
    def style(self) -> Style:
        """Its label."""
        return Style("DSU")

    def usual_layers(self, network: nn.Module) -> tuple[str, ...]:
        """The first convolution, the first pooling and every stage; without stages, all poolings.

        Args:
            network: any.
        """
        names = dict(network.named_modules())
        stages = [f"layer{number}" for number in range(1, 5)]
        first = [n for n, module in names.items() if isinstance(module, nn.Conv2d)][:1]
        pools = [n for n, module in names.items() if isinstance(module, POOLINGS)]
        if not first or not pools:
            return usual_layers(network)
        return (*first, pools[0], *stages) if set(stages) <= set(names) else (*first, *pools)

    def restyled(self, features: Tensor, generator: torch.Generator) -> Tensor:
        """Draw the noise of a layer."""
        noise = torch.randn(2, *features.shape[:2], generator=generator).to(features.device)
        return uncertain_style(features, *noise)


def uncertain_style(x: Tensor, mean_noise: Tensor, std_noise: Tensor) -> Tensor:
    """Give each channel a mean and a deviation around its own ones.

    Args:
        x: features ``(N, C, H, W)``.
        mean_noise: by how many deviations over the mini-batch the mean moves, ``(N, C)``.
        std_noise: the same of the deviation.
    """
    exact = full_precision(x)
    mean, std = statistics(exact)
    new_mean, new_std = (
        one + noise[..., None, None] * (one.var(0, correction=0) + EPS).sqrt()
        for one, noise in ((mean, mean_noise), (std, std_noise))
    )
    return ((exact - mean) / std * new_std + new_mean).to(x.dtype)
