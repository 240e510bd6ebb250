"""What a method's network learns from: images of the source, and what the method makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor, nn

from ...data import ImageFormat, Images, get_benchmark
from ...data.pixels import normalise
from ...pictures import picture_rows
from ...run.config import RunConfig

IMAGES, DRAWS = 10, 4
TRIES = 40


class _Probe(nn.Module):
    """Takes the place of the network, and keeps what it is given."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes
        self.seen: Tensor | None = None

    def forward(self, images: Tensor) -> Tensor:
        self.seen = images
        return images.new_zeros(len(images), self.classes)


def sample_sheet(config: RunConfig) -> Image.Image | None:
    """Images as they are, and each row of them under a draw; None if the method changes nothing.

    The draws are new ones, from the run's own options. They are what the network is given, mapped
    back to pixels.

    Args:
        config: of the run; an absent source raises :class:`~prorandconv.lab.errors.DataError`.
    """
    images = _source(config.benchmark, config.source[0], config.data_root)
    labels = images.labels
    firsts = [(labels == one).nonzero()[:1, 0] for one in range(len(images.classes))]
    chosen = torch.cat(firsts)[:IMAGES]
    (stored,) = images.stored([chosen])
    x = normalise(stored, images.format.mean, images.format.std)
    drawn = []
    for view in _views(config, x, labels[chosen], len(images.classes), images.format):
        if not torch.equal(view, x):
            drawn.append(view)
        if len(drawn) == DRAWS:
            break
    if not drawn:
        return None
    rows = [("original", x), *((f"draw {n}", view) for n, view in enumerate(drawn, 1))]
    return picture_rows([(name, _pixels(batch, images.format)) for name, batch in rows])


@lru_cache(maxsize=1)
def _source(benchmark: str, source: str, data_root: Path | None) -> Images:
    return get_benchmark(benchmark, data_root).load(source, "train")


def _views(
    config: RunConfig, x: Tensor, labels: Tensor, classes: int, format: ImageFormat
) -> Iterator[Tensor]:
    """What the network is given in one step after another, in parts of as many images as ``x``."""
    probe, loss = _Probe(classes), config.options.loss(format)
    generator = torch.Generator().manual_seed(config.seed)
    for _ in range(TRIES):
        with torch.no_grad():
            loss(probe, x, labels, generator)
        if probe.seen is not None:
            yield from (part for part in torch.split(probe.seen, len(x)) if len(part) == len(x))


def _pixels(batch: Tensor, format: ImageFormat) -> Tensor:
    mean, std = (torch.tensor(one).view(1, 3, 1, 1) for one in (format.mean, format.std))
    return ((batch.float() * std + mean).clamp(0, 1) * 255).round().byte()
