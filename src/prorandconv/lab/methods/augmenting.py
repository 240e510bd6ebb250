"""What augmentations share: cross-entropy of original and augmented images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import select
from ...selection import Strategy
from ..data import ImageFormat
from .contract import Method
from .learner import Augment, Loss

LabelledAugment = Callable[[Tensor, Tensor, torch.Generator], tuple[Tensor, Tensor]]
"""(images, labels, generator) -> as many augmented images, and their labels."""


def shared_options(method: Method, cls: type[Any]) -> dict[str, Any]:
    """The options of a method that a class of transforms or methods has by the same name."""
    known = {field.name for field in fields(cls)}
    return {f.name: getattr(method, f.name) for f in fields(method) if f.name in known}


@dataclass(frozen=True)
class Augmenting(Method, ABC):
    """Each mini-batch is augmented by one draw; the loss is the cross-entropy of a selection."""

    selection: Strategy | float = "both"
    """images to learn from: both, original, augmented, either, uniform, or a share of originals"""

    @abstractmethod
    def augmentation(self, format: ImageFormat) -> Augment:
        """One draw of the augmentation, for images of this format."""

    def labelled_augmentation(self, format: ImageFormat) -> LabelledAugment:
        """The same with labels, which stay as they are unless a method moves them."""
        augment = self.augmentation(format)
        return lambda x, y, generator: (augment(x, generator), y)

    def loss(self, format: ImageFormat) -> Loss:
        """Cross-entropy of the selected images, in one forward pass."""
        augment = self.labelled_augmentation(format)

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            # Images are computed in full precision, whatever the network computes in.
            with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
                xL, yL = augment(x, y, generator)
                originals = torch.arange(len(x), device=x.device)
                chosen, _ = select(originals, originals + len(x), self.selection, generator)
                images, labels = torch.cat((x, xL))[chosen], torch.cat((y, yL))[chosen]
            return F.cross_entropy(network(images), labels)

        return loss
