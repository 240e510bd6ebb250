"""What augmentations share: cross-entropy of original and augmented images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import select
from ...selection import Strategy
from ..data import ImageFormat
from .contract import Method
from .learner import Augment, Loss


@dataclass(frozen=True)
class Augmenting(Method, ABC):
    """Each mini-batch is augmented by one draw; the loss is the cross-entropy of a selection."""

    selection: Strategy | float = "both"
    """images to learn from: both, original, augmented, either, uniform, or a share of originals"""

    @abstractmethod
    def augmentation(self, format: ImageFormat) -> Augment:
        """One draw of the augmentation, for images of this format."""

    def loss(self, format: ImageFormat) -> Loss:
        """Cross-entropy of the selected images, in one forward pass."""
        augment = self.augmentation(format)

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            # Images are computed in full precision, whatever the network computes in.
            with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
                images, index = select(x, augment(x, generator), self.selection, generator)
            return F.cross_entropy(network(images), y[index])

        return loss
