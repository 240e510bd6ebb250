"""Batches as other libraries have them: images somewhere, and labels beside them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from ..errors import ProRandConvError
from ..selection import Strategy, check_strategy, select
from ..transforms import DrawTransform, ProRandConv


@dataclass
class BatchAugmentation:
    """Replaces a batch's images by those to learn from.

    Everything else with a batch dimension is indexed alike.

    Args:
        augment: the augmentation, :class:`ProRandConv` by default.
        strategy: which images the network learns from, as in :func:`select`.
        images: where the images are: a position in tuples and lists, a key in dictionaries. A batch
            that is one tensor is all images.

    Example:
        >>> import torch
        >>> images, labels, names = torch.rand(2, 3, 8, 8), torch.tensor([4, 2]), ["a", "b"]
        >>> result = BatchAugmentation()((images, labels, names))
        >>> result[0].shape, *result[1:]
        (torch.Size([4, 3, 8, 8]), tensor([4, 2, 4, 2]), ['a', 'b', 'a', 'b'])
    """

    augment: DrawTransform = field(default_factory=ProRandConv)
    strategy: Strategy | float = "both"
    images: int | str = 0

    def __post_init__(self) -> None:
        check_strategy(self.strategy)
        if self.augment.labels == "warp":
            raise ProRandConvError.about(
                "augment", 'labels="warp"', 'labels="fixed": what is beside the images stays here'
            )

    def __call__(self, batch: Any) -> Any:
        """A batch of the same kind."""
        if isinstance(batch, Tensor):
            return select(batch, self.augment(batch), self.strategy)[0]
        images = self._images(batch)
        chosen, index = select(images, self.augment(images), self.strategy)
        keys = batch.keys() if isinstance(batch, Mapping) else range(len(batch))
        parts = {
            key: chosen if key == self.images else _index_batch(index, len(images), batch[key], key)
            for key in keys
        }
        if isinstance(batch, Mapping):
            result: Any = copy(batch)
            for key, part in parts.items():
                result[key] = part
            return result
        made = getattr(type(batch), "_make", type(batch))  # a namedtuple takes its parts one by one
        return made(parts.values())

    def _images(self, batch: Any) -> Tensor:
        try:
            images = batch[self.images]
        except (KeyError, IndexError, TypeError):
            images = None
        if not isinstance(images, Tensor):
            found = list(batch) if isinstance(batch, Mapping) else f"a {type(batch).__name__}"
            raise ProRandConvError.about(
                "images", self.images, f"the place of a batch's images in {found}"
            )
        return images


def _index_batch(index: Tensor, count: int, part: Any, name: object) -> Any:
    """The entries of ``count`` images at an index."""
    if len(index) == count or part is None or isinstance(part, str | int | float):
        return part
    if isinstance(part, Mapping):
        return {key: _index_batch(index, count, each, key) for key, each in part.items()}
    if isinstance(part, Tensor):
        if part.dim() == 0:
            return part
        if len(part) == count:
            return part[index.to(part.device)]
    elif isinstance(part, list | tuple):
        if len(part) == count:
            return type(part)([part[i] for i in index.tolist()])
        if all(isinstance(each, Tensor) for each in part):
            return type(part)([_index_batch(index, count, each, name) for each in part])
    raise ProRandConvError.about(
        "batch",
        f"{type(part).__name__} at {name!r}",
        f'one entry for each of the {count} images, or a strategy other than "both"',
    )
