"""What adversarial methods share: ascent on images, and a memory of the images it makes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..data import Samples
from ..data.samples import Batch, Batches
from .augmenting import normalised, unnormalised
from .learner import Learner, RunInfo

AUTHORS_BATCH = 32
"""Images over which the authors of ADA and of what follows it take the mean of an objective."""

Make = Callable[[Tensor, Tensor], Tensor]
"""(pixels, labels) -> as many images to be kept; pixels are in [0, 1], ``(N, 3, S, S)``."""

Stop = Callable[[], None]
"""Raises when the run is to stop."""


@contextmanager
def frozen(network: nn.Module) -> Iterator[None]:
    """Put a network in evaluation mode meanwhile, without gradients of its weights."""
    modes = [(module, module.training) for module in network.modules()]
    learnt = [one for one in network.parameters() if one.requires_grad]
    network.eval().requires_grad_(False)
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
        for one in learnt:
            one.requires_grad_(True)


def ascend(objective: Callable[[Tensor], Tensor], x: Tensor, steps: int, rate: float) -> Tensor:
    """Move images up the gradient of their objectives; clamped to [0, 1] after the last step.

    Args:
        objective: images to one number for each of them, ``(N,)``.
        x: pixels in [0, 1], ``(N, ...)``.
        steps: how many steps.
        rate: factor of the gradient.
    """
    z = x.detach()
    with torch.enable_grad():
        for _ in range(steps):
            z = z.requires_grad_()
            (gradient,) = torch.autograd.grad(objective(z).sum(), z)
            z = z.detach() + rate * gradient
    return z.clamp(0, 1)


class Growing(Learner):
    """A network that learns from its source and from images that were made of it.

    At the start of some epochs an image is made of each of the source and kept. An image of a
    mini-batch is replaced by a kept one with the probability that a draw from both together would
    give one: an epoch has as many steps as without them.

    Args:
        network: what is trained.
        info: the run.
        growths: how often images are made, in the epochs from 1 on (counted from 0).
        kept: how many times' images are kept, the newest; None: all.
    """

    grown: Tensor
    times: Tensor

    def __init__(
        self, network: nn.Module, info: RunInfo, growths: int, kept: int | None = None
    ) -> None:
        super().__init__(network)
        self.info, self.growths, self.kept = info, growths, kept or growths
        size = info.format.image_size
        self.images = torch.empty(0, 3, size, size, dtype=torch.uint8)
        self.labels = torch.empty(0, dtype=torch.long)
        self.register_buffer("grown", torch.zeros((), dtype=torch.long))  # the last time's epoch
        self.register_buffer("times", torch.zeros((), dtype=torch.long))

    @abstractmethod
    def maker(self, source: Samples, generator: torch.Generator, check_stop: Stop) -> Make:
        """What makes images in this epoch, while the network is frozen; see ``begin_epoch``."""

    def begin_epoch(
        self, epoch: int, source: Samples, generator: torch.Generator, check_stop: Stop
    ) -> None:
        """Make images in the epochs in which the memory grows."""
        if not self.growing(epoch):
            return
        images: list[Tensor] = []
        labels: list[Tensor] = []
        with frozen(self.network):
            make = self.maker(source, generator, check_stop)
            for x, y in self.passing(source):
                check_stop()
                made = make(unnormalised(x, self.info.format), y)
                images.append(self.info.gather((made * 255).round().byte()).cpu())
                labels.append(self.info.gather(y).cpu())
        made, theirs = torch.cat(images), torch.cat(labels)
        # Last: a stop leaves no half.
        self.images = torch.cat([self.images, made])[-self.kept * len(made) :]
        self.labels = torch.cat([self.labels, theirs])[-self.kept * len(made) :]
        self.times += 1
        self.grown.fill_(epoch)

    def passing(self, source: Samples) -> Batches:
        """This process's part of the source, in its stored order."""
        device = next(self.network.parameters()).device
        return source.batches(64, device=device, shard=self.info.shard)

    def growing(self, epoch: int) -> bool:
        """Whether images are to be made in this epoch; not again when a run resumes in it."""
        return int(self.grown) < epoch <= self.growths

    @property
    def sets(self) -> int:
        """How many sets are learnt from, each as large as the source: it and those kept."""
        return min(int(self.times), self.kept) + 1

    def recalled(
        self, count: int, generator: torch.Generator, device: torch.device
    ) -> tuple[Tensor, Tensor]:
        """Draw images that are kept, normalised ``(count, 3, S, S)``, and their labels."""
        chosen = torch.randint(len(self.labels), (count,), generator=generator)
        pixels = self.images[chosen].to(device) / 255
        return normalised(pixels, self.info.format), self.labels[chosen].to(device)

    def joined(self, batch: Batch, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """A mini-batch of which some images, with their labels, are replaced by kept ones."""
        x, y = batch.images, batch.labels
        if not len(self.labels):
            return x, y
        kept, theirs = self.recalled(len(x), generator, x.device)
        replaced = (torch.rand(len(x), generator=generator) < 1 - 1 / self.sets).to(x.device)
        return torch.where(replaced.view(-1, 1, 1, 1), kept, x), torch.where(replaced, theirs, y)

    def get_extra_state(self) -> dict[str, Tensor]:
        """What is kept: images uint8 ``(M, 3, S, S)`` and labels ``(M,)``."""
        return {"images": self.images, "labels": self.labels}

    def set_extra_state(self, state: dict[str, Tensor]) -> None:
        """Take what is kept."""
        self.images, self.labels = state["images"], state["labels"]
