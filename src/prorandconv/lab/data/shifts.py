"""Shifted validation: validation images under shifts of fixed strength and with fixed draws.

No target is looked at. The idea is that of Crafting Shifts (WACV 2025): what stands shifts that it
was not trained with is likelier to stand the next unknown one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from ...stress import shifts
from .images import Images, Subset
from .pixels import warp
from .splits import fingerprint

LIMIT = 300
"""So many validation images are shifted, always the same: all families together cost as much as
evaluating 2,400 images."""

ZOOM = 1.2
"""images are enlarged or made smaller by up to this factor"""
SHIFT = 0.1
"""and moved by up to this share of their side"""


def zoom_and_shift(pixels: Tensor, index: Tensor) -> Tensor:
    """Each image with its own small zoom and shift; its border goes on outside."""
    drawn = (
        torch.stack([torch.rand(3, generator=shifts.generator_for(i)) for i in index.tolist()]) * 2
        - 1
    )
    maps = torch.zeros(len(pixels), 2, 3)
    maps[:, 0, 0] = maps[:, 1, 1] = ZOOM ** drawn[:, 0]
    maps[:, :, 2] = drawn[:, 1:] * 2 * SHIFT  # coordinates go from -1 to 1
    return warp(pixels, maps)


Shift = Callable[[Tensor, Tensor], Tensor]
"""(pixels, index) -> shifted pixels, uint8 ``(N, C, S, S)``; the positions of the images in their
set, ``(N,)``, decide what is drawn."""

FAMILIES: dict[str, Shift] = {**shifts.FAMILIES, "zoom-and-shift": zoom_and_shift}
"""The library's, each with its default strength, and one of the lab."""


class Shifted(Images):
    """Images under one family of shifts.

    Args:
        images: the set.
        family: one of ``FAMILIES``.
    """

    def __init__(self, images: Images, family: str) -> None:
        content = fingerprint([images.fingerprint, family])
        super().__init__(images.labels, images.classes, images.split, images.format, content)
        self.images = images
        self.shift = FAMILIES[family]

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Read and shift batches of images; see :meth:`Images.stored`."""
        for index, pixels in zip(indices, self.images.stored(indices), strict=True):
            yield self.shift(pixels, index)


def all_shifted(images: Images) -> dict[str, Images]:
    """A limited part of the images under each family of shifts."""
    part = Subset(images, LIMIT)
    return {family: Shifted(part, family) for family in FAMILIES}
