"""What augmentations share: pixels, random numbers, divergence, cross-entropy of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import select
from ...selection import Strategy
from ..data import ImageFormat
from .contract import Method
from .learner import Augment, Learner, OneLoss, RunInfo


def divergence(predictions: tuple[Tensor, ...]) -> Tensor:
    """Mean over views and images (or pixels) of KL(p_j || p̄), p̄ being the views' average."""
    exact = torch.promote_types(predictions[0].dtype, torch.float32)
    logs = torch.stack([F.log_softmax(view.to(exact), dim=1) for view in predictions])
    average = logs.exp().mean(0).clamp_min(1e-7).log()
    return (logs.exp() * (logs - average)).sum(2).mean()


def numpy_generator(generator: torch.Generator) -> np.random.Generator:
    """A generator of numpy's, which has distributions that torch draws from its own only."""
    return np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))


@contextmanager
def torch_seeded(generator: torch.Generator) -> Iterator[None]:
    """Seed torch's own generator meanwhile; it belongs to the network, and is put back."""
    with torch.random.fork_rng(devices=[]):
        seed = torch.randint(2**32, (), generator=generator)
        torch.default_generator.manual_seed(int(seed))
        yield


def to_pixels(x: Tensor, format: ImageFormat) -> Tensor:
    """Normalised images as uint8 of the same shape."""
    mean, std = _statistics(x, format)
    return (x * std + mean).mul(255).round().clamp(0, 255).to(torch.uint8)


def from_pixels(pixels: Tensor, format: ImageFormat) -> Tensor:
    """Pixels from 0 to 255, whole or not, as normalised images."""
    mean, std = _statistics(pixels, format)
    return (pixels / 255 - mean) / std


def unnormalised(x: Tensor, format: ImageFormat) -> Tensor:
    """Normalised images as pixels, from 0 to 1 and not clamped."""
    mean, std = _statistics(x, format)
    return x * std + mean


def normalised(pixels: Tensor, format: ImageFormat) -> Tensor:
    """Pixels from 0 to 1 as normalised images."""
    mean, std = _statistics(pixels, format)
    return (pixels - mean) / std


def _statistics(x: Tensor, format: ImageFormat) -> tuple[Tensor, Tensor]:
    mean, std = (torch.tensor(one, device=x.device) for one in (format.mean, format.std))
    return mean.view(1, 3, 1, 1), std.view(1, 3, 1, 1)


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

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """Cross-entropy of the selected images, in one forward pass."""
        augment = self.labelled_augmentation(info.format)

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            # Images are computed in full precision, whatever the network computes in.
            with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
                xL, yL = augment(x, y, generator)
                originals = torch.arange(len(x), device=x.device)
                chosen, _ = select(originals, originals + len(x), self.selection, generator)
                images, labels = torch.cat((x, xL))[chosen], torch.cat((y, yL))[chosen]
            return F.cross_entropy(network(images), labels)

        return OneLoss(network, loss)
