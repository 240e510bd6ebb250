"""Training images that a method has made, beside those of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .images import EpochPlan, Images, labelled
from .samples import Pair, Samples
from .splits import fingerprint


class Grown(Images):
    """Images of a set, and further ones, which are normalised already.

    Args:
        images: the set.
        more: float32 ``(M, 3, S, S)``, normalised.
        labels: of these, int64 ``(M,)``.
        domains: of these, int64 ``(M,)``.
    """

    def __init__(self, images: Images, more: Tensor, labels: Tensor, domains: Tensor) -> None:
        content = fingerprint([images.fingerprint, str(len(more))])
        every = torch.cat([images.labels, labels.cpu()])
        super().__init__(every, images.classes, images.split, images.format, content)
        self.images, self.more = images, more
        self.domains = torch.cat([images.domains, domains.cpu()])

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Images of the set only: the others were never stored as pixels."""
        return self.images.stored(indices)

    def made(self, parts: Sequence[EpochPlan], device: torch.device) -> Iterator[Pair]:
        """Batches of both; further images are flipped, translated and jittered likewise."""
        count = len(self.images)
        old = [part.order < count for part in parts]
        inner = [part.part(own.nonzero()[:, 0]) for part, own in zip(parts, old, strict=True)]
        pairs = self.images.made(inner, device)
        for part, own, (images, _) in zip(parts, old, pairs, strict=True):
            new = part.part((~own).nonzero()[:, 0])
            size = self.format.image_size
            batch = torch.empty(len(own), 3, size, size, device=device)
            batch[own.to(device)] = images
            chosen = self.more[(new.order - count).to(self.more.device)].to(device)
            batch[~own.to(device)] = new.augmented(chosen)
            yield batch, self.labels[part.order].to(device, non_blocking=True)


def with_more(
    source: Samples, more: Tensor, labels: Tensor, domains: Tensor | None = None
) -> Images:
    """Training images and further ones, as a learner's ``begin_epoch`` returns them.

    Args:
        source: the training images, each with one label.
        more: float32 ``(M, 3, S, S)``, normalised, on any device.
        labels: int64 ``(M,)``.
        domains: positions of their domains, int64 ``(M,)``; by default of the first.
    """
    domains = torch.zeros_like(labels) if domains is None else domains
    return Grown(labelled(source), more, labels, domains)
