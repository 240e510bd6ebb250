"""The traditional augmentations: torchvision's own transforms, one draw for the mini-batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torchvision.transforms import v2

from ...selection import Strategy
from ..data import ImageFormat
from .augmenting import Augmenting, from_pixels, to_pixels, torch_seeded
from .learner import Augment


@dataclass(frozen=True)
class Traditional(Augmenting):
    """Cross-entropy of images that a transform of torchvision has augmented."""

    selection: Strategy | float = "augmented"
    """images to learn from: augmented, original, both, either, uniform, or a share of originals"""

    kind: ClassVar[Callable[..., Any]]
    """makes the transform of uint8 images ``(N, 3, S, S)``, from the other options in order"""

    def augmentation(self, format: ImageFormat) -> Augment:
        """The transform, applied to pixels."""
        names = (f.name for f in fields(self) if f.name not in ("selection", "mode"))
        transform = type(self).kind(*(getattr(self, name) for name in names))

        def augment(x: Tensor, generator: torch.Generator) -> Tensor:
            with torch_seeded(generator):  # torchvision draws from torch's own generator only
                pixels = to_pixels(x, format)
                if getattr(self, "mode", "batch") == "sample":
                    return from_pixels(torch.stack([transform(one) for one in pixels]), format)
                return from_pixels(transform(pixels), format)

        return augment


@dataclass(frozen=True)
class ColorJitter(Traditional):
    """Brightness, contrast, saturation and hue of each mini-batch are changed at random."""

    kind = v2.ColorJitter
    brightness: float = 0.5
    """largest relative change of the brightness"""
    contrast: float = 0.5
    """largest relative change of the contrast"""
    saturation: float = 0.5
    """largest relative change of the saturation"""
    hue: float = 0.5
    """largest turn of the hue, 0.5 being half of the circle"""


@dataclass(frozen=True)
class Grayscale(Traditional):
    """Mini-batches lose their colours at random."""

    kind = v2.RandomGrayscale
    p: float = 0.5
    """probability that a mini-batch becomes grey"""


@dataclass(frozen=True)
class Moving(Traditional):
    """An augmentation that moves pixels, and not their labels."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Images with one class only."""
        return ("classification",)


@dataclass(frozen=True)
class Perspective(Moving):
    """Mini-batches are seen from the side at random."""

    kind = v2.RandomPerspective
    distortion: float = 0.5
    """how far corners move at most, as a share of half of the side"""
    p: float = 0.5
    """probability that a mini-batch is distorted"""


@dataclass(frozen=True)
class Rotate(Moving):
    """Each mini-batch is turned by a random angle."""

    kind = v2.RandomRotation
    degrees: float = 30.0
    """largest angle, either way"""


@dataclass(frozen=True)
class AutoAugment(Moving):
    """Each mini-batch goes through a random pair of operations of a learnt policy (Cubuk 2019)."""

    kind = staticmethod(lambda policy: v2.AutoAugment(v2.AutoAugmentPolicy(policy)))
    policy: Literal["imagenet", "cifar10", "svhn"] = "imagenet"
    """data set that the policy was learnt on; svhn would know a target of Digits"""
    mode: Literal["batch", "sample"] = "batch"
    """one pair of operations for the mini-batch, or one for each image"""


@dataclass(frozen=True)
class RandAugment(Moving):
    """Each mini-batch goes through some random operations of one magnitude (Cubuk 2020)."""

    kind = staticmethod(
        lambda operations, magnitude, invert: (WithInvert if invert else v2.RandAugment)(
            operations, magnitude
        )
    )
    operations: int = 2
    """how many operations in a row"""
    magnitude: int = 9
    """how strong they are, of 31"""
    invert: bool = False
    """Invert is among the operations, as in the first implementation"""
    mode: Literal["batch", "sample"] = "batch"
    """operations for the mini-batch, or for each image"""


class WithInvert(v2.RandAugment):  # type: ignore[misc]  # torchvision has no types
    """RandAugment with one more operation."""

    _AUGMENTATION_SPACE: ClassVar[dict[str, Any]] = {
        **v2.RandAugment._AUGMENTATION_SPACE,
        "Invert": (lambda bins, height, width: None, False),
    }
