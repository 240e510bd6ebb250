"""AutoAugment (Cubuk et al., 2019)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torchvision.transforms import v2

from .traditional import Traditional


@dataclass(frozen=True)
class AutoAugment(Traditional):
    """Each mini-batch goes through a random pair of operations of a learnt policy."""

    policy: Literal["imagenet", "cifar10", "svhn"] = "imagenet"
    """data set that the policy was learnt on; svhn would know a target of Digits"""

    def transform(self) -> Callable[[Tensor], Tensor]:
        """Torchvision's transform."""
        made: Callable[[Tensor], Tensor] = v2.AutoAugment(v2.AutoAugmentPolicy(self.policy))
        return made
