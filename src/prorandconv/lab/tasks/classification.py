"""Classification: one class for an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..data import ImageFormat
from ..models import build_classifier
from .contract import Evaluation, RunTask

PIXELS = 256 * 32 * 32
"""Pixels of a batch: 256 images of 32 pixels, or as few as memory wants of large ones."""


@dataclass(frozen=True)
class Accuracy(Evaluation):
    """How many images of each class (rows) were taken for which (columns)."""

    metric = "accuracy"
    title = class_title = "accuracy"

    @property
    def images(self) -> int:
        """How many images there were."""
        return self.counted

    @property
    def accuracy(self) -> float:
        """Per cent of the images whose class was found."""
        right = sum(row[i] for i, row in enumerate(self.confusion))
        return 100 * right / max(self.images, 1)

    @property
    def score(self) -> float:
        """The accuracy."""
        return self.accuracy

    @property
    def per_class(self) -> tuple[float | None, ...]:
        """The same for each class; None for a class without images."""
        rows = enumerate(self.confusion)
        return tuple(100 * row[i] / sum(row) if sum(row) else None for i, row in rows)

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as in result.json."""
        return {
            "accuracy": self.accuracy,
            "images": self.images,
            "per_class": list(self.per_class),
            "confusion": [list(row) for row in self.confusion],
        }


class Classification(RunTask):
    """Find the class of an image."""

    evaluation = Accuracy
    whole_batches = False
    build = staticmethod(build_classifier)

    def batch_size(self, format: ImageFormat) -> int:
        """As many images as a limited number of pixels allows."""
        return max(PIXELS // format.image_size**2, 1)

    def output_shape(self, classes: int, image_size: int) -> str:
        """One logit for each class."""
        return f"(N, {classes})"

    def labels(self, count: int, classes: int, image_size: int) -> Tensor:
        """The classes in turn."""
        return torch.arange(count) % classes
