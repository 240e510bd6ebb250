"""What a method of training is: options, and from them a learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import Self

if TYPE_CHECKING:  # --help must not wait for torch
    from torch import nn

    from ..data import ImageFormat
    from .learner import Augment, Learner, RunInfo

EARLIER_DEFAULT = "earlier default"
"""Metadata of an option whose default has changed: what it was, which names of runs leave out."""

Line = str | tuple[int, tuple[int, ...]]
"""A line style of matplotlib's."""


@dataclass(frozen=True)
class Style:
    """How a method is shown in tables, plots and legends."""

    label: str
    colour: str | None = None
    """None, here and below: the next one that its table leaves free"""
    marker: str | None = None
    line: Line | None = None


@dataclass(frozen=True)
class Method:
    """A way of training. Its fields are its options, with a help text each.

    A method overrides what it needs: ``learner`` in any case, unless it is ERM; ``augmentation`` if
    it augments images, to show samples of them. One line in ``METHODS`` registers it.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    """fields of the run whose defaults it changes, such as ``{"learning_rate": 4e-3}``"""

    @property
    def style(self) -> Style | None:
        """Its label, colour, marker and line; None: its name, and the next ones that are free."""
        return None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that it can train for; a method that moves pixels must move their labels too."""
        return ("classification", "segmentation")

    def with_auto_resolved(self, mean: Sequence[float], std: Sequence[float]) -> Self:
        """The same with its options "auto" resolved for the images; runs store it like this.

        Args:
            mean: of the normalisation of the images, by channel.
            std: likewise.
        """
        return self

    def augmentation(self, format: ImageFormat) -> Augment | None:
        """One draw of its augmentation of images of this format; None: it has none."""
        return None

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """What is trained: by default the network, by cross-entropy."""
        from .learner import OneLoss, cross_entropy

        return OneLoss(network, cross_entropy)


@dataclass(frozen=True)
class ERM(Method):
    """Empirical risk minimisation (Eq. 1): cross-entropy of the images as they are."""

    @property
    def style(self) -> Style:
        """Grey and dashed, as baselines are."""
        return Style("ERM", "#8c8c8c", "o", (0, (4, 2)))
