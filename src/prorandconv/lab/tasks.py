"""Tasks: a class for each image, or for each of its pixels, and how well a network finds it.

Stored results are read without torch: only what trains imports it.
"""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import Self

from .errors import unknown_name

if TYPE_CHECKING:
    from torch import Tensor, nn

    from .data import ImageFormat

PIXELS = 256 * 32 * 32
"""Pixels of an evaluated batch: 256 images of 32 pixels, or as many large ones as memory allows."""


@dataclass(frozen=True)
class Evaluation(ABC):
    """A confusion matrix of images or pixels: labels in rows, predicted classes in columns."""

    confusion: tuple[tuple[int, ...], ...]

    metric: ClassVar[str]
    """name of the score in result.json"""
    title: ClassVar[str]
    """name of the score for people"""
    class_title: ClassVar[str]
    """the same for a single class"""

    @property
    @abstractmethod
    def score(self) -> float:
        """The figure, in per cent, that weights are selected by and tables show."""

    @property
    @abstractmethod
    def per_class(self) -> tuple[float | None, ...]:
        """The same for each class; None for a class that does not occur."""

    @property
    def counted(self) -> int:
        """Number of images, or of pixels."""
        return sum(map(sum, self.confusion))

    @property
    def accuracy(self) -> float:
        """Per cent of the images, or pixels, whose class was predicted."""
        right = sum(row[i] for i, row in enumerate(self.confusion))
        return 100 * right / max(self.counted, 1)

    @abstractmethod
    def to_mapping(self) -> dict[str, Any]:
        """JSON values, as in result.json."""

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        """The evaluation that was stored."""
        return cls(tuple(tuple(row) for row in stored["confusion"]))

    def _common(self) -> dict[str, Any]:
        confusion = [list(row) for row in self.confusion]
        return {"per_class": list(self.per_class), "confusion": confusion}


@dataclass(frozen=True)
class Accuracy(Evaluation):
    """Confusion matrix of images."""

    metric = "accuracy"
    title = class_title = "accuracy"

    @property
    def score(self) -> float:
        """The accuracy."""
        return self.accuracy

    @property
    def per_class(self) -> tuple[float | None, ...]:
        """Accuracy on the images of each class; None for a class without images."""
        rows = enumerate(self.confusion)
        return tuple(100 * row[i] / sum(row) if sum(row) else None for i, row in rows)

    def to_mapping(self) -> dict[str, Any]:
        """JSON values, as in result.json."""
        return {"accuracy": self.accuracy, "images": self.counted, **self._common()}


@dataclass(frozen=True)
class Overlap(Evaluation):
    """Confusion matrix of all pixels of a set."""

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
        present = [one for one in self.per_class if one is not None]
        return statistics.fmean(present) if present else 0.0

    def to_mapping(self) -> dict[str, Any]:
        """JSON values, as in result.json."""
        figures = {"miou": self.score, "pixel_accuracy": self.accuracy, "pixels": self.counted}
        return figures | self._common()


class RunTask(ABC):
    """Everything in which classification and segmentation differ.

    The benchmark's data defines what a batch is (:class:`~prorandconv.lab.data.samples.Samples`).
    Pixels without a class are labelled ``IGNORED`` there, which cross-entropy leaves out by itself.
    """

    evaluation: ClassVar[type[Evaluation]]
    """what measuring a network gives"""
    whole_batches: ClassVar[bool]
    """whether training leaves out a last mini-batch that is not full"""

    @property
    @abstractmethod
    def build(self) -> Callable[..., nn.Module]:
        """Makes a network by its name; see :func:`~prorandconv.lab.models.build_classifier`."""

    @abstractmethod
    def batch_size(self, format: ImageFormat) -> int:
        """Number of images that are evaluated at once."""

    @abstractmethod
    def output_shape(self, classes: int, image_size: int) -> str:
        """The shape of a network's output, for people."""

    @abstractmethod
    def labels(self, count: int, classes: int, image_size: int) -> Tensor:
        """Labels of ``count`` training images, to measure what a step costs."""


class Classification(RunTask):
    """Predict the class of an image."""

    evaluation = Accuracy
    whole_batches = False

    @property
    def build(self) -> Callable[..., nn.Module]:
        """Classifiers."""
        from .models import build_classifier

        return build_classifier

    def batch_size(self, format: ImageFormat) -> int:
        """The number of images that a limited number of pixels allows."""
        return max(PIXELS // format.image_size**2, 1)

    def output_shape(self, classes: int, image_size: int) -> str:
        """One logit for each class."""
        return f"(N, {classes})"

    def labels(self, count: int, classes: int, image_size: int) -> Tensor:
        """The classes in turn."""
        import torch

        return torch.arange(count) % classes


class Segmentation(RunTask):
    """Predict the class of each pixel."""

    evaluation = Overlap
    # Batch normalisation of pooled features cannot learn from a single image.
    whole_batches = True

    @property
    def build(self) -> Callable[..., nn.Module]:
        """Segmentation networks."""
        from .models import build_segmenter

        return build_segmenter

    def batch_size(self, format: ImageFormat) -> int:
        """One: scenes are measured whole, and may differ in size."""
        return 1

    def output_shape(self, classes: int, image_size: int) -> str:
        """One logit for each class and pixel."""
        return f"(N, {classes}, {image_size}, {image_size})"

    def labels(self, count: int, classes: int, image_size: int) -> Tensor:
        """The classes in stripes."""
        import torch

        rows = (torch.arange(image_size) % classes).view(1, -1, 1)
        return rows.expand(count, -1, image_size)


TASKS: dict[str, type[RunTask]] = {
    "classification": Classification,
    "segmentation": Segmentation,
}


def get_task(name: str) -> RunTask:
    """A task by its name.

    Example:
        >>> get_task("segmentation").evaluation.metric
        'miou'
    """
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return TASKS[name]()
