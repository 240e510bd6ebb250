"""Domains and benchmarks: every data set of the paper behind one interface."""

from typing import TYPE_CHECKING

from ..errors import DataError
from .benchmarks import BENCHMARKS, get_benchmark

if TYPE_CHECKING:
    from .benchmark import Benchmark, Domain, Identity, Recipe
    from .image_files import Options
    from .images import Batches, ImageFormat, Images
    from .splits import SPLITS, Split
else:
    from ...lazy import on_first_use

    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "SPLITS": "splits",
            "Batches": "images",
            "Benchmark": "benchmark",
            "Domain": "benchmark",
            "Identity": "benchmark",
            "ImageFormat": "images",
            "Images": "images",
            "Options": "image_files",
            "Recipe": "benchmark",
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
    "Split",
    "get_benchmark",
]
