"""What a task is: everything in which classifying images and segmenting scenes differ.

What a batch is, the data of a benchmark says (:class:`~prorandconv.lab.data.samples.Samples`).
Pixels without a class are labelled ``IGNORED`` there, which cross-entropy leaves out by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from torch import Tensor, nn
from typing_extensions import Self

from ..data import ImageFormat


@dataclass(frozen=True)
class Evaluation(ABC):
    """Confusion counts: how much of each class (rows) was taken for which (columns)."""

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
        """How many images, or pixels, there were."""
        return sum(map(sum, self.confusion))

    @abstractmethod
    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as in result.json."""

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        """The evaluation that was stored."""
        return cls(tuple(tuple(row) for row in stored["confusion"]))


class Builder(Protocol):
    """Makes networks by name."""

    def __call__(
        self,
        name: str,
        *,
        classes: int,
        image_size: int,
        pretrained: bool = False,
        weights: Path | None = None,
    ) -> nn.Module:
        """Make a network; its first weights come from torch's global generator.

        Args:
            name: of the network.
            classes: number of classes.
            image_size: side of a training image in pixels.
            pretrained: start from torchvision's first ImageNet weights (IMAGENET1K_V1).
            weights: start from this file instead, .safetensors or .pth.
        """


class RunTask(ABC):
    """A task of networks."""

    evaluation: ClassVar[type[Evaluation]]
    """what is found by measuring a network"""
    whole_batches: ClassVar[bool]
    """whether training leaves out a last mini-batch that is not full"""
    build: ClassVar[Builder]
    """makes its networks"""

    @abstractmethod
    def batch_size(self, format: ImageFormat) -> int:
        """How many images are evaluated at once."""

    @abstractmethod
    def output_shape(self, classes: int, image_size: int) -> str:
        """The shape of a network's output, for people."""

    @abstractmethod
    def labels(self, count: int, classes: int, image_size: int) -> Tensor:
        """Labels for so many training images, to measure what a step costs."""
