"""What a user may choose about reading data, whatever the benchmark."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import ProRandConvError
from .image_folder import CACHE_BYTES, DecodedCache


@dataclass(frozen=True)
class Options:
    """How image folders are read; benchmarks in memory need none of it.

    Attributes:
        cache_bytes: limit of decoded images kept in memory, in bytes; 0 keeps none.
        workers: processes that decode; 0 decodes in the calling process, None means one for each
            core.
    """

    cache_bytes: int = CACHE_BYTES
    workers: int | None = None
    cache: DecodedCache = field(init=False)

    def __post_init__(self) -> None:
        if self.cache_bytes < 0:
            raise ProRandConvError.about("cache_bytes", self.cache_bytes, "a number from 0")
        if self.workers is not None and self.workers < 0:
            raise ProRandConvError.about("workers", self.workers, "None or a number from 0")
        object.__setattr__(self, "cache", DecodedCache(self.cache_bytes))
