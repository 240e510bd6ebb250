"""timm: the batches of its prefetching loaders, which are normalised on the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import ProRandConvError
from ..selection import Strategy
from ..transforms import ProRandConv
from .batches import BatchAugmentation
from .extras import requires_extra

with requires_extra("timm"):
    from timm.data.loader import PrefetchLoader


def augmented(
    loader: PrefetchLoader, strategy: Strategy | float = "both", **options: Any
) -> Iterator[tuple[Any, Any]]:
    """One epoch of a training loader's batches, augmented in the range that its images have.

    Args:
        loader: made by ``timm.data.create_loader`` with ``use_prefetcher=True``, the default. Its
            mean and standard deviation are those that the result is mapped to.
        strategy: which images the network learns from, as in :func:`select`; targets are
            indexed alike, also those of mixup.
        options: of :class:`ProRandConv`.

    Returns:
        Pairs of images and targets.
    """
    if not isinstance(loader, PrefetchLoader):
        raise ProRandConvError.about(
            "loader",
            type(loader).__name__,
            "timm's PrefetchLoader; where your transform normalises, use BatchAugmentation("
            'ProRandConv(output="pixels", mean=..., std=...)) on each batch',
        )
    # A prefetcher normalises bytes, and keeps mean and standard deviation 255 times as large.
    mean, std = ((kept.flatten() / 255).tolist() for kept in (loader.mean, loader.std))
    known: dict[str, Any] = {"output": "pixels", "mean": mean, "std": std}
    return map(BatchAugmentation(ProRandConv(**known | options), strategy), loader)
