"""What a method of training is: options, and from them what is learnt in a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import Self

if TYPE_CHECKING:  # --help must not wait for torch
    from torch import nn

    from ..data import ImageFormat
    from .learner import Augment, Learner, Loss, Task


EARLIER_DEFAULT = "earlier default"
"""Metadata of an option whose default has changed: what it was, which names of runs leave out."""


@dataclass(frozen=True)
class Method:
    """A way of training, described by its options, which are the fields.

    A method overrides as little as it needs: ``augmentation`` if it learns from other images (see
    :class:`~prorandconv.lab.methods.augmenting.Augmenting`), ``loss`` if it minimises something
    else than cross-entropy, ``learner`` if it has modules, optimisers or memories of its own,
    ``adapt`` if another network is to be evaluated.
    """

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can train for; what moves pixels must move their labels too."""
        return ("classification", "segmentation")

    def fitted(self, mean: Sequence[float], std: Sequence[float]) -> Self:
        """The same, with what its options leave to the images decided; runs store it like this.

        Args:
            mean: of the normalisation of the images, by channel.
            std: likewise.
        """
        return self

    def augmentation(self, format: ImageFormat) -> Augment | None:
        """One draw of what this method does to images of this format; None: it leaves them."""
        return None

    def loss(self, format: ImageFormat) -> Loss:
        """The loss for images of this format: cross-entropy of the images as they are."""
        from .learner import cross_entropy

        return cross_entropy

    def adapt(self, network: nn.Module, classes: int) -> nn.Module:
        """The network to be trained and evaluated, made of the one that the run asks for."""
        return network

    def learner(self, network: nn.Module, task: Task) -> Learner:
        """What is trained: the network by :meth:`loss`, with one optimiser."""
        from .learner import OneLoss

        return OneLoss(network, self.loss(task.format))


@dataclass(frozen=True)
class ERM(Method):
    """Empirical risk minimisation (Eq. 1): cross-entropy of the images as they are."""
