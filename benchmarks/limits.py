"""What the machine allows: the least work and the least traffic of one repetition."""

from __future__ import annotations

import statistics

import torch
from torch import Tensor

import prorandconv as prc
from prorandconv.draw import Draw
from prorandconv.fields import Field


def merged_multiply_adds(params: Draw) -> int:
    """Multiply-adds of one repetition on one image, with one weight for each pair of pixels.

    The bilinear corners of all taps are merged: a source pixel counts once for an output pixel,
    however many taps reach it, for all pairs of channels. Taps whose weights vanish beside the
    largest one at float32's precision, and pixels outside the image, do not count.
    """
    weight, offsets = params.weight, params.offsets
    offsets = offsets.dense() if isinstance(offsets, Field) else offsets
    assert offsets is not None
    height, width = offsets.shape[-2:]
    kernel_size = weight.shape[-1]
    largest = weight.abs().amax((0, 1)).flatten()
    threshold = largest.max() * torch.finfo(torch.float32).eps / 16
    row, column = torch.arange(height)[:, None], torch.arange(width)
    reach = kernel_size // 2 + int(offsets.abs().max()) + 1
    window = 2 * reach + 1
    used = torch.zeros(window**2, height * width, dtype=torch.bool)
    pixel = row * width + column
    for tap in (largest > threshold).nonzero().flatten().tolist():
        i, j = (place - kernel_size // 2 for place in divmod(tap, kernel_size))
        for down, below in _corners(offsets[2 * tap]):
            for right, beside in _corners(offsets[2 * tap + 1]):
                y, x = i + down, j + right
                inside = (row + y >= 0) & (row + y < height)
                inside = inside & (column + x >= 0) & (column + x < width) & below & beside
                place = (y + reach) * window + x + reach
                used[place[inside], pixel[inside]] = True
    return int(used.sum()) * weight.shape[0] * weight.shape[1]


def _corners(displaced: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Along one axis: the two neighbours of a displaced pixel, and whether they have a share."""
    whole = displaced.floor()
    return [(whole.long(), torch.ones_like(whole, dtype=torch.bool)),
            (whole.long() + 1, displaced > whole)]  # fmt: skip


def seconds_at_peak(size: int, batch: int, peak: float, draws: int = 20) -> float:
    """Seconds of one repetition of the merged operator at ``peak`` multiply-adds per second."""
    x = torch.empty(1, 3, size, size)
    generator = torch.Generator().manual_seed(0)
    augment = prc.ProRandConv()
    work = [merged_multiply_adds(augment.draw(x, generator)) for _ in range(draws)]
    return batch * statistics.mean(work) / peak


def bytes_moved(size: int, batch: int) -> int:
    """Bytes of one repetition: the batch is read and written, twice as it is standardised."""
    return 2 * 2 * batch * 3 * size**2 * 4
