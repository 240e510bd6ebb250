"""What is trained: a network and whatever else of a method has state, updated in rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from ..data import ImageFormat, Samples
from ..data.samples import Batch

Augment = Callable[[Tensor, torch.Generator], Tensor]
"""(images, generator) -> as many augmented images.

Images are normalised, ``(N, 3, S, S)``. Everything random comes from the generator, which
lives on the CPU: the same state gives the same images.
"""

Loss = Callable[[nn.Module, Tensor, Tensor, torch.Generator], Tensor]
"""(network, images, labels, generator) -> the loss to be minimised, a scalar.

As for :data:`Augment`; labels are ``(N,)``, or ``(N, S, S)`` if each pixel has one.
"""

Losses = dict[str, Tensor]
"""A round: by the name of an optimiser, the loss whose gradient its parameters follow."""


class MakeOptimiser(Protocol):
    """Makes the optimiser that the run's config sets."""

    def __call__(self, parameters: Iterable[Any], **changes: Any) -> Optimizer:
        """Make an optimiser.

        Args:
            parameters: parameters, or groups of them. A group may have ``"constant": True``, which
                keeps its learning rate out of the schedule, and ``"clip"``, the largest norm of
                its gradient.
            changes: arguments of the optimiser that differ from the config, such as ``lr``.
        """


@dataclass(frozen=True)
class RunInfo:
    """What a learner may know of its run. Targets are not in it."""

    format: ImageFormat
    classes: int
    """number of classes"""
    domains: int
    """number of source domains"""
    epochs: int
    steps: int
    """of the first epoch"""
    source: Samples
    """all training images"""
    gather: Callable[[Tensor], Tensor]
    """the same tensor of all processes, joined along the first dimension"""
    shard: tuple[int, int] = (0, 1)
    """this process and the number of processes, as :meth:`Samples.batches` takes them"""


class Learner(nn.Module, ABC):
    """A network and what else a method has to keep: heads, teachers, generators, memories.

    Its ``state_dict`` is what a checkpoint holds. State that is no parameter is a buffer; state
    whose size changes goes through ``get_extra_state`` and ``set_extra_state``. It has to be the
    same in all processes: ``RunInfo.gather`` sees to that where it comes from images.

    Args:
        network: what is evaluated, as ``self.network``; a method may set another one there.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def optimisers(self, make: MakeOptimiser) -> dict[str, Optimizer]:
        """The optimisers by name; by default one, ``"network"``, for the network."""
        return {"network": make(self.network.parameters())}

    def begin_epoch(
        self,
        epoch: int,
        source: Samples,
        generator: torch.Generator,
        check_stop: Callable[[], None],
    ) -> Samples | None:
        """Prepare an epoch, such as by growing the training images.

        It is called again when a run resumes within the epoch: what was prepared then is in the
        learner's state, and must be neither drawn nor computed again.

        Args:
            epoch: from 0.
            source: the run's training images.
            generator: where everything random comes from; it lives on the CPU.
            check_stop: to be called now and then in long work, equally often in every process; it
                raises when the run is to stop. Work that was stopped is repeated from its
                beginning, so state is to be changed last.

        Returns:
            The images of this epoch, such as :func:`~prorandconv.lab.data.grown.with_more`; None:
            the source. Steps and image counts follow from them.
        """
        return None

    @abstractmethod
    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Learn from a mini-batch, in one or more rounds.

        All gradients of a round are taken first and averaged over the processes; then its
        optimisers step. Code after a ``yield`` sees the new weights. The first loss of the first
        round is the one that is shown and stored.

        Args:
            batch: images, labels, and the domains that the images are from.
            generator: where everything random comes from; it lives on the CPU.
        """


class OneLoss(Learner):
    """The usual learner: one loss, one round."""

    def __init__(self, network: nn.Module, loss: Loss) -> None:
        super().__init__(network)
        self.loss = loss

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the loss of the mini-batch."""
        yield {"network": self.loss(self.network, batch.images, batch.labels, generator)}


def cross_entropy(
    network: nn.Module, images: Tensor, labels: Tensor, generator: torch.Generator
) -> Tensor:
    """Mean cross-entropy of the images."""
    return F.cross_entropy(network(images), labels)
