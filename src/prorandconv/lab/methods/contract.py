"""What a method of training is: options, and from them a learner."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, get_type_hints

from typing_extensions import Self

from ...errors import require

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


class Limit(NamedTuple):
    """What the value of an option has to be; it stands in the option's type."""

    expected: str
    holds: Callable[[Any], bool]


Count = Annotated[int, Limit("an integer from 1", lambda value: value >= 1)]
Positive = Annotated[float, Limit("a number above 0", lambda value: 0 < value < math.inf)]
NonNegative = Annotated[float, Limit("a number from 0", lambda value: 0 <= value < math.inf)]
Probability = Annotated[float, Limit("a number from 0 to 1", lambda value: 0 <= value <= 1)]


@dataclass(frozen=True)
class Method:
    """A way of training. Its fields are its options, with a help text each.

    A method overrides what it needs: ``learner`` in any case, unless it is ERM; ``augmentation`` if
    it augments images, to show samples of them. One line in ``METHODS`` registers it.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    """fields of the run whose defaults it changes, such as ``{"learning_rate": 4e-3}``"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """by benchmark, the fields of the run in the recipe "authors", and under "options" the options
    that its authors use on this benchmark, which are the defaults there with every recipe"""

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            for limit in getattr(hint, "__metadata__", ()):
                if isinstance(limit, Limit):
                    value = getattr(self, name)
                    require(name, value, limit.holds(value), limit.expected)

    @classmethod
    def options_on(cls, benchmark: str) -> Mapping[str, Any]:
        """The options whose defaults a benchmark changes."""
        found: Mapping[str, Any] = cls.authors.get(benchmark, {}).get("options", {})
        return found

    @property
    def style(self) -> Style | None:
        """Its label, colour, marker and line; None: its name, and the next ones that are free."""
        return None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that it can train for; a method that moves pixels must move their labels too."""
        return ("classification", "segmentation")

    def with_auto_resolved(self, mean: Sequence[float], std: Sequence[float]) -> Self:
        """The same with its options "auto" resolved for the images; runs store it like this."""
        return self

    def augmentation(self, format: ImageFormat) -> Augment | None:
        """One draw of its augmentation of images of this format; None: it has none."""
        return None

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """What is trained: by default the network, by cross-entropy."""
        from .learner import OneLoss, cross_entropy

        return OneLoss(network, cross_entropy)


@dataclass(frozen=True)
class Classifying(Method):
    """A method for images with one class each."""

    label: ClassVar[str] = ""
    """in tables and plots; empty: its name"""

    @property
    def style(self) -> Style | None:
        """Its label."""
        return Style(self.label) if self.label else None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Classification only."""
        return ("classification",)


@dataclass(frozen=True)
class ERM(Method):
    """Empirical risk minimisation (Eq. 1): cross-entropy of the images as they are."""

    @property
    def style(self) -> Style:
        """Grey and dashed, as baselines are."""
        return Style("ERM", "#8c8c8c", "o", (0, (4, 2)))
