"""What a method is: options, and from them the loss of a mini-batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from ..data import ImageFormat

Loss = Callable[[nn.Module, Tensor, Tensor, torch.Generator], Tensor]
"""(network, images, labels, generator) -> the loss to be minimised.

Images are normalised, ``(N, 3, S, S)``, labels ``(N,)``. Everything random comes from the
generator, which lives on the CPU: the same state gives the same loss. The
network is called once.
"""


@dataclass(frozen=True)
class Method(ABC):
    """A way of training, described by its options, which are the fields."""

    @abstractmethod
    def loss(self, format: ImageFormat) -> Loss:
        """The loss function for images of this format."""
