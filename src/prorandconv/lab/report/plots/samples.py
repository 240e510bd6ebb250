"""Images of the source, and what a method makes of them."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from pathlib import Path

import torch
from PIL import Image

from ...data import Options, Samples, get_benchmark
from ...methods.augmenting import to_pixels
from ...pictures import picture_rows
from ...run.config import RunConfig

IMAGES, DRAWS = 10, 4
TRIES = 40


def sample_sheet(config: RunConfig) -> Image.Image | None:
    """Images as they are, and each row of them under a draw; None if the method changes nothing.

    The draws are new ones, from the run's own options, mapped back to pixels.

    Args:
        config: of the run; an absent source raises :class:`~prorandconv.lab.errors.DataError`.
    """
    images = _source(config.benchmark, config.source[0], config.data_root, config.image_size)
    x = images.examples(IMAGES)
    augment = config.options.augmentation(images.format)
    if augment is None:
        return None
    generator = torch.Generator().manual_seed(config.seed)
    views = (augment(x, generator) for _ in range(TRIES))
    drawn = list(islice((view for view in views if not torch.equal(view, x)), DRAWS))
    if not drawn:
        return None
    rows = [("original", x), *((f"draw {n}", view) for n, view in enumerate(drawn, 1))]
    return picture_rows([(name, to_pixels(batch, images.format)) for name, batch in rows])


@lru_cache(maxsize=1)
def _source(benchmark: str, source: str, data_root: Path | None, image_size: int | None) -> Samples:
    options = Options(image_size=image_size)
    return get_benchmark(benchmark, data_root, options).load(source, "train")
