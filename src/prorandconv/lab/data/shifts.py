"""Shifted validation: validation images under shifts of fixed strength and with fixed draws.

No target is looked at. The idea is that of Crafting Shifts (WACV 2025): what stands shifts that it
was not trained with is likelier to stand the next unknown one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from ...stress import shifts
from .augmentation import warp
from .images import Images, stacked
from .splits import fingerprint
from .stores import Fetched

LIMIT = 300
"""At most this many validation images are shifted, always the same: all families together cost as
much as evaluating 2,400 images."""

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


class _Shifted:
    """Images under one of ``FAMILIES``."""

    def __init__(self, images: Images, family: str) -> None:
        self.fingerprint = fingerprint([images.fingerprint, family])
        self._images, self._shift = images, FAMILIES[family]

    def __len__(self) -> int:
        return len(self._images)

    def fetch(self, indices: Sequence[Tensor]) -> Iterator[Fetched]:
        for index, batch in zip(indices, self._images.fetch(indices), strict=True):
            yield self._shift(stacked(batch, self._images.format.image_size), index)


def shifted(images: Images, family: str) -> Images:
    """Images under one family of shifts."""
    return Images.of(
        _Shifted(images, family),
        images.labels,
        classes=images.classes,
        split=images.split,
        format=images.format,
    )


def all_shifted(images: Images) -> dict[str, Images]:
    """A limited part of the images under each family of shifts."""
    part = images.subset(LIMIT)
    return {family: shifted(part, family) for family in FAMILIES}
