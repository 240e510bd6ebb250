"""Domains and benchmarks: every data set of the paper behind one interface."""

from ..errors import DataError
from .benchmark import Benchmark, Domain, Identity, Recipe
from .benchmarks import BENCHMARKS, get_benchmark
from .image_files import Options
from .images import Batches, ImageFormat, Images
from .splits import SPLITS, Split

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
