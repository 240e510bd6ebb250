"""What the traditional augmentations share: torchvision's own transform, applied to the batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import select
from ...selection import Strategy
from ..data import ImageFormat
from .contract import Loss, Method


@dataclass(frozen=True)
class Traditional(Method):
    """Cross-entropy of images that a transform of torchvision has augmented."""

    selection: Strategy | float = "augmented"
    """images to learn from: augmented, original, both, either, uniform, or a share of originals"""

    @abstractmethod
    def transform(self) -> Callable[[Tensor], Tensor]:
        """The transform of uint8 images ``(N, 3, S, S)``; one draw for the mini-batch."""

    def loss(self, format: ImageFormat) -> Loss:
        """Cross-entropy of the chosen images."""
        transform = self.transform()
        mean = torch.tensor(format.mean).view(1, 3, 1, 1)
        std = torch.tensor(format.std).view(1, 3, 1, 1)

        def augmented(x: Tensor, generator: torch.Generator) -> Tensor:
            means, stds = mean.to(x.device), std.to(x.device)
            pixels = (x * stds + means).mul(255).round().clamp(0, 255).to(torch.uint8)
            # Torchvision draws from the global generator only, which belongs to the network.
            with torch.random.fork_rng(devices=[]):
                seed = torch.randint(2**32, (), generator=generator)
                torch.default_generator.manual_seed(int(seed))
                pixels = transform(pixels)
            return (pixels / 255 - means) / stds

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            with torch.no_grad():
                images, index = select(x, augmented(x, generator), self.selection, generator)
            return F.cross_entropy(network(images), y[index])

        return loss
