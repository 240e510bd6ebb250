"""Small sets: all images in memory as one uint8 tensor, no work per image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ...errors import ProRandConvError
from .images import ImageFormat, Images
from .pixels import resize
from .splits import Split, fingerprint


class InMemoryImages(Images):
    """Images held as uint8, resized once when they are loaded.

    Args:
        pixels: uint8 ``(N, 1 or 3, H, W)`` of any size.
        labels: int64 ``(N,)``.
        classes: names of the classes.
        split: which split this is.
        format: how the images reach the network.
    """

    def __init__(
        self,
        pixels: Tensor,
        labels: Tensor,
        *,
        classes: tuple[str, ...],
        split: Split,
        format: ImageFormat,
    ) -> None:
        self.pixels = resize(pixels, format.image_size).contiguous()
        self.labels = labels
        self.classes = classes
        self.split = split
        self.format = format
        content = (part.reshape(-1).numpy().data for part in (pixels, labels))
        self.fingerprint = fingerprint(content)

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Gather batches of images; see :meth:`Images.stored`."""
        return (self.pixels[index] for index in indices)

    @classmethod
    def joined(cls, sets: Sequence[Images]) -> InMemoryImages:
        """The images of several sets as one, in the given order."""
        own = [part for part in sets if isinstance(part, cls)]
        if len(own) < len(sets) or not own:
            raise ProRandConvError.about("sets", sets, "sets that are all held in memory")
        channels = max(part.pixels.shape[1] for part in own)
        size = own[0].format.image_size
        pixels = torch.cat([part.pixels.expand(-1, channels, size, size) for part in own])
        labels = torch.cat([part.labels for part in own])
        first = own[0]
        result = cls(pixels, labels, classes=first.classes, split=first.split, format=first.format)
        result.fingerprint = fingerprint(part.fingerprint for part in own)
        return result
