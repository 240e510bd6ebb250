"""Domains and benchmarks: every data set of the paper behind one interface."""

from typing import TYPE_CHECKING

from ..errors import DataError
from .benchmarks import BENCHMARKS, get_benchmark

if TYPE_CHECKING:
    from .benchmark import Benchmark
    from .images import Images
    from .samples import ImageFormat, Samples
    from .splits import Split
    from .stores import Options
else:
    from ...lazy import on_first_use

    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "Benchmark": "benchmark",
            "ImageFormat": "samples",
            "Images": "images",
            "Options": "stores",
            "Samples": "samples",
            "Split": "splits",
        },
    )

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "DataError",
    "ImageFormat",
    "Images",
    "Options",
    "Samples",
    "Split",
    "get_benchmark",
]
