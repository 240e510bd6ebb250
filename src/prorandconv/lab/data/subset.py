"""Some images of a set, for trials that must be quick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .images import Images
from .splits import fingerprint


class Subset(Images):
    """So many images of a set, chosen at random but always the same; all if it has no more.

    Args:
        images: the set.
        count: how many images.
    """

    def __init__(self, images: Images, count: int) -> None:
        self.images = images
        # Not the first ones, nor every n-th: sets may be sorted, or their classes take turns.
        generator = torch.Generator().manual_seed(0)
        self.index = torch.randperm(len(images), generator=generator)[:count].sort().values
        self.labels = images.labels[self.index]
        self.classes = images.classes
        self.split = images.split
        self.format = images.format
        self.fingerprint = fingerprint([images.fingerprint, str(len(self.index))])

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Read batches of images; see :meth:`Images.stored`."""
        return self.images.stored([self.index[index] for index in indices])

    @classmethod
    def joined(cls, sets: Sequence[Images]) -> Images:
        """The images of several subsets as one, in the given order."""
        raise NotImplementedError("join the sets first, then take a subset")
