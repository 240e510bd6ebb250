"""Which data a run is trained and measured on: part of what it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a config is read without waiting for what loads data
    from ..data import Benchmark


@dataclass(frozen=True)
class DataIdentity:
    """The data of a run as far as it names the run, and all that its network needs of it."""

    domains: tuple[str, ...]
    classes: tuple[str, ...]
    image_size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    content: str | None = None
    """hash of all images of a user's own data"""

    @classmethod
    def of(cls, benchmark: Benchmark) -> DataIdentity:
        """The identity of a benchmark's data; of a user's own folder every image is read."""
        own = benchmark.identity()
        form = benchmark.format
        return cls(own.domains, own.classes, form.image_size, form.mean, form.std, own.content)
