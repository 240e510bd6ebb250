"""Domains and benchmarks: every data set of the paper behind one interface."""

from typing import TYPE_CHECKING

from ..errors import DataError
from .benchmarks import BENCHMARKS, get_benchmark

if TYPE_CHECKING:
    from .benchmark import Benchmark, Domain, Identity, Recipe
    from .image_files import Options
    from .images import Images
    from .samples import Batches, ImageFormat, Samples
    from .splits import SPLITS, Split
else:
    from ...lazy import on_first_use

    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "SPLITS": "splits",
            "Batches": "samples",
            "Benchmark": "benchmark",
            "Domain": "benchmark",
            "Identity": "benchmark",
            "ImageFormat": "samples",
            "Images": "images",
            "Options": "image_files",
            "Recipe": "benchmark",
            "Samples": "samples",
            "Split": "splits",
        },
    )

__all__ = [
    "BENCHMARKS",
    "SPLITS",
    "Batches",
    "Benchmark",
    "DataError",
    "Domain",
    "Identity",
    "ImageFormat",
    "Images",
    "Options",
    "Recipe",
    "Samples",
    "Split",
    "get_benchmark",
]
