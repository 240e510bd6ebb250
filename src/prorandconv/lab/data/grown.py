"""Training images that a method has made, beside those of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from .images import EpochPlan, Images, labelled
from .samples import Pair, Samples
from .splits import fingerprint


@dataclass(frozen=True, eq=False)
class Grown(Images):
    """Images of a set, and further ones, which are normalised already.

    Attributes:
        images: the set.
        more: float32 ``(M, 3, S, S)``, normalised, with labels and domains behind the set's.
    """

    images: Images
    more: Tensor

    def load(self, parts: Sequence[EpochPlan], device: torch.device) -> Iterator[Pair]:
        """Batches of both; further images are flipped, translated and jittered likewise."""
        count = len(self.images)
        old = [part.order < count for part in parts]
        inner = [part.part(own.nonzero()[:, 0]) for part, own in zip(parts, old, strict=True)]
        pairs = self.images.load(inner, device)
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
    images = labelled(source)
    known = {one.name: getattr(images, one.name) for one in fields(Images)} | {
        "fingerprint": fingerprint([images.fingerprint, str(len(more))]),
        "index": torch.cat([images.index, len(images.store) + torch.arange(len(more))]),
        "labels": torch.cat([images.labels, labels.cpu()]),
        "domains": torch.cat([images.domains, domains.cpu()]),
    }
    return Grown(**known, images=images, more=more)
