"""Segmentation: one class for each pixel of a scene."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..data import ImageFormat
from ..models import build_segmenter
from .contract import Evaluation, RunTask


@dataclass(frozen=True)
class Overlap(Evaluation):
    """How many pixels of each class (rows) were taken for which (columns), over a whole set."""

    metric = "miou"
    title = "mIoU"
    class_title = "IoU"

    @property
    def per_class(self) -> tuple[float | None, ...]:
        """Intersection over union of each class in per cent; None for a class without pixels."""
        columns = [sum(column) for column in zip(*self.confusion, strict=True)]
        return tuple(
            100 * row[i] / (sum(row) + columns[i] - row[i]) if sum(row) else None
            for i, row in enumerate(self.confusion)
        )

    @property
    def score(self) -> float:
        """Mean intersection over union of the classes that occur."""
        found = [one for one in self.per_class if one is not None]
        return statistics.fmean(found) if found else 0.0

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as in result.json."""
        right = sum(row[i] for i, row in enumerate(self.confusion))
        return {
            "miou": self.score,
            "pixel_accuracy": 100 * right / max(self.counted, 1),
            "pixels": self.counted,
            "per_class": list(self.per_class),
            "confusion": [list(row) for row in self.confusion],
        }


class Segmentation(RunTask):
    """Find the class of each pixel."""

    evaluation = Overlap
    # Batch normalisation of pooled features cannot learn from a single image.
    whole_batches = True
    build = staticmethod(build_segmenter)

    def batch_size(self, format: ImageFormat) -> int:
        """One: scenes are measured whole, and may differ in size."""
        return 1

    def output_shape(self, classes: int, image_size: int) -> str:
        """One logit for each class and pixel."""
        return f"(N, {classes}, {image_size}, {image_size})"

    def labels(self, count: int, classes: int, image_size: int) -> Tensor:
        """The classes in stripes."""
        rows = (torch.arange(image_size) % classes).view(1, -1, 1)
        return rows.expand(count, -1, image_size)
