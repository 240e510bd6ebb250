"""Benchmarks by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import ProRandConvError
from ....lazy import named
from ...errors import unknown_name
from ...files import data_root

if TYPE_CHECKING:  # a misspelt name must not wait for torch
    from ..benchmark import Benchmark
    from ..stores import Options

BENCHMARKS = {
    "digits": "digits:digits",
    "pacs": "photos:pacs",
    "officehome": "photos:officehome",
    "vlcs": "photos:vlcs",
    "folder": "own:folder",
    "digits-mini": "digits_mini:digits_mini",
    "gtav": "streets:gtav",
    "street": "streets:street",
    "segfolder": "own:segfolder",
    "shapes-mini": "shapes_mini:shapes_mini",
}
"""Functions of modules beside this one, called as ``function(root, options)``, by benchmark."""


def get_benchmark(
    name: str, root: Path | str | None = None, options: Options | None = None
) -> Benchmark:
    """A benchmark by its name.

    Nothing large is read before a domain is loaded, and missing domains are no error until then:
    see :meth:`Benchmark.present`.

    Args:
        name: one of ``BENCHMARKS``.
        root: the folder of data sets; ``PRORANDCONV_DATA`` or ``data`` by default.
        options: how image folders are read.

    Example:
        >>> benchmark = get_benchmark("digits", root="data")
        >>> benchmark.domains
        ('mnist', 'svhn', 'mnist_m', 'syn', 'usps')
        >>> benchmark.image_size, benchmark.recipe.epochs
        (32, 500)
    """
    if name not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARKS)
    from ..stores import Options

    options = options or Options()
    made: Benchmark = named(BENCHMARKS[name], __name__)(data_root(root), options)
    if options.image_size not in (None, made.image_size):
        raise ProRandConvError.about(
            "image_size",
            options.image_size,
            f"{made.image_size}, the size of all images of {name}: only benchmarks of photos have "
            "a choice",
        )
    return made
