"""Hugging Face: a collator, and a ``Trainer`` that uses it for training only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..selection import Strategy
from ..transforms import DrawTransform, ProRandConv
from .batches import BatchAugmentation
from .extras import requires_extra

with requires_extra("huggingface"):
    from transformers import Trainer, default_data_collator


class AugmentingCollator:
    """Makes a batch of samples, and augments its images.

    It is for training only: a ``Trainer`` would use it in evaluations, too, so that
    :class:`AugmentedTrainer` is there.

    Args:
        augment: the augmentation, :class:`ProRandConv` by default.
        strategy: which images the network learns from, as in :func:`select`; labels are
            indexed alike.
        images: key of the images, normalised.
        collate: what makes the batch, transformers' default by default.
    """

    def __init__(
        self,
        augment: DrawTransform | None = None,
        strategy: Strategy | float = "both",
        images: str = "pixel_values",
        collate: Callable[[Any], Any] = default_data_collator,
    ) -> None:
        augment = ProRandConv() if augment is None else augment
        self.collate, self._augmented = collate, BatchAugmentation(augment, strategy, images)

    def __call__(self, samples: Sequence[Any]) -> Any:
        """A batch of these samples, for training."""
        return self._augmented(self.collate(samples))


class AugmentedTrainer(Trainer):  # type: ignore[misc]
    """A ``Trainer`` that augments the batches it trains on, and no others.

    Args:
        arguments: those of ``Trainer``.
        augment: as in :class:`AugmentingCollator`.
        strategy: likewise.
        images: likewise.
        options: those of ``Trainer``; its ``data_collator`` makes all batches.
    """

    data_collator: Any

    def __init__(
        self,
        *arguments: Any,
        augment: DrawTransform | None = None,
        strategy: Strategy | float = "both",
        images: str = "pixel_values",
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._training_collator = AugmentingCollator(augment, strategy, images, self.data_collator)

    def get_train_dataloader(self) -> Any:
        """The loader of training batches, the only one that augments."""
        plain = self.data_collator
        self.data_collator = self._training_collator
        try:
            return super().get_train_dataloader()
        finally:
            self.data_collator = plain
