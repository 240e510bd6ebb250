"""ERM: the paper's baseline."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data import ImageFormat
from .contract import Loss, Method


def cross_entropy(
    network: nn.Module, images: Tensor, labels: Tensor, generator: torch.Generator
) -> Tensor:
    """Mean cross-entropy of the original images."""
    return F.cross_entropy(network(images), labels)


@dataclass(frozen=True)
class ERM(Method):
    """Empirical risk minimisation (Eq. 1): cross-entropy of the images as they are."""

    def loss(self, format: ImageFormat) -> Loss:
        """Cross-entropy, whatever the format."""
        return cross_entropy
