"""The draw as one sparse linear operator, in stock PyTorch operators on any device.

Offsets and weights are the same for every image and every repetition, so the bilinear corners of
all taps are turned once into a sparse matrix over pixels. Images are laid out with one pixel's
values over the batch contiguous; applying the operator is then a weighted sum of table rows, which
is what ``embedding_bag`` computes natively. No step reads a value back to the host, loops over
images or has a shape that depends on data.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..caching import cached, readable
from ..fields import Field
from . import taps as tap_by_tap
from . import volumes
from .formulas import active_taps, wrap

if TYPE_CHECKING:
    from ..draw import Draw

_CHUNK_BYTES = 20 << 20
"""Images are processed in chunks of this size: temporaries stay in cache, and below the size from
which allocators map fresh memory at each operation."""


FEW_IMAGES = 4
"""Up to this number of images with one draw, preparing an operator costs more than it saves."""


def status() -> str:
    """Whether this engine can be used here."""
    return "available"


def unsupported_reason(images: Tensor, draw: Draw) -> str | None:
    """Nothing is unsupported; where gradients are wanted, the reference engine computes."""
    return None


def apply(images: Tensor, draw: Draw) -> Tensor:
    """Convolve, standardise, scale and squash as often as the draw says."""
    if draw.spatial_dims == 3:
        return volumes.apply(images, draw)
    if draw.per_image or len(images) <= FEW_IMAGES:
        return tap_by_tap.apply(images, draw)
    assert isinstance(draw.repeats, int)
    operator, options = SparseOperator(images, draw), draw.options
    count, channels, pixels = images.shape[0], len(operator.weights), math.prod(images.shape[2:])
    result = images.new_empty(count, channels, *images.shape[2:])
    bytes_per_image = result[:1].numel() * result.element_size()
    chunk = max(8, _CHUNK_BYTES // bytes_per_image // 8 * 8)
    affine = images.new_tensor([[1.0], [0.0]]).expand(2, channels)
    if "affine" in options.contrast and draw.gamma is not None and draw.beta is not None:
        affine = torch.stack((draw.gamma, draw.beta))
    if "tanh" in options.contrast:
        affine = 2 * affine
    for start in range(0, count, chunk):
        some = slice(start, start + chunk)
        source, target = images[some].flatten(1).t(), result[some].flatten(1).t()
        width = source.shape[1]
        # Two columns at least: a single one would take other kernels and round differently than
        # in a batch.
        columns = max(width, 2)
        table = images.new_empty(channels * pixels, columns)
        if source.numel() == table.numel():
            # The place of the result is free until the end.
            spare = result[some].view(-1, columns)
        else:
            spare = images.new_empty(len(source), columns)
        if draw.repeats % 2:
            table, spare = spare, table
        table.copy_(source)
        scale, shift = affine.unsqueeze(-1).repeat(1, 1, columns)
        for _ in range(draw.repeats):
            operator.apply(table, spare, scale, shift)
            table, spare = spare, table
        target.copy_(table[:, :width])
    return result


class SparseOperator:
    """One draw, prepared as indices and weights of sums over table rows."""

    def __init__(self, images: Tensor, draw: Draw) -> None:
        size = (images.shape[2], images.shape[3])
        self.size, self.options = size, draw.options
        taps, offsets = active_taps(draw.weight), draw.offsets
        offsets = offsets.dense() if isinstance(offsets, Field) else offsets
        if _largest(draw.offsets, offsets) <= 1:
            self.rows, self.weights = _window_operator(draw, size, offsets, taps)
        else:
            self.rows, self.weights = _corner_operator(draw, size, offsets, taps)
        self.one = torch.ones((), dtype=images.dtype, device=images.device)
        per_pixel = self.weights[0].shape[-1]
        self.bags = torch.arange(
            0, self.rows.numel(), per_pixel, dtype=torch.int32, device=self.rows.device
        )

    def apply(self, table: Tensor, result: Tensor, scale: Tensor, shift: Tensor) -> None:
        """One repetition from table to table (C * H * W, images), with an affine (C, images).

        tanh(z) is computed as 1 - 2 / (1 + exp(2z)), which takes half the time of torch's own; the
        affine has doubled z before.
        """
        height, width = self.size
        pixels, count = height * width, table.shape[1]
        planes = result.view(-1, pixels, count)
        for weights, its_scale, its_shift, target in zip(
            self.weights, scale, shift, planes, strict=True
        ):
            plane = F.embedding_bag(
                self.rows, table, self.bags, mode="sum", per_sample_weights=weights.view(-1)
            )
            if "standardise" in self.options.contrast:
                # To batch_norm, each image is a channel of one channels_last picture: it
                # standardises over pixels and applies the affine in the same call.
                picture = plane.view(1, height, width, count).permute(0, 3, 1, 2)
                picture = torch.batch_norm(
                    picture, its_scale, its_shift, None, None, True, 0.0, self.options.eps, False
                )
                plane = picture.permute(0, 2, 3, 1).reshape(pixels, count)
            else:
                plane = torch.addcmul(its_shift, plane, its_scale)
            if "tanh" in self.options.contrast:
                torch.exp(plane, out=target)
            else:
                target.copy_(plane)
        if "tanh" in self.options.contrast:
            torch.add(self.one, result.add_(1).reciprocal_(), alpha=-2, out=result)


def _largest(given: Tensor | Field | None, offsets: Tensor | None) -> float:
    """Bound of |offsets|: read where that costs no synchronisation, else as known before."""
    if offsets is None:
        return 0.0
    if readable(offsets):
        return float(offsets.abs().max())
    known = given.known_bound if isinstance(given, Field) else None
    return math.inf if known is None else known


def _window_operator(
    draw: Draw, size: tuple[int, int], offsets: Tensor | None, taps: tuple[int, ...]
) -> tuple[Tensor, list[Tensor]]:
    """Merge all corners into one window, for |offsets| <= 1 (or none).

    A tap displaced by d along an axis reaches its neighbours at -1, 0 and 1 with the interpolation
    weights max(0, -d), 1 - |d| and max(0, d). Which pixel of the window a (tap, neighbour,
    neighbour) falls on is fixed, so merging is one matrix product per output channel.
    """
    height, width = size
    spread = 0 if offsets is None else 1
    device, dtype = draw.weight.device, draw.weight.dtype
    channels, padding = draw.weight.shape[1], draw.options.padding
    rows, row_inside, column_inside, place = _window(
        height, width, channels, draw.kernel_size, taps, spread, padding, device
    )
    weight = draw.weight.flatten(2)[:, :, list(taps)]
    if offsets is None:
        near = torch.ones(len(taps), 2, 1, 1, 1, dtype=dtype, device=device)
    else:
        displaced = offsets.view(-1, 2, height, width)[list(taps)]
        before, after = (-displaced).clamp_(min=0), displaced.clamp(min=0)
        near = torch.stack((before, 1 - before - after, after), 2)
    by_row, by_column = near[:, 0] * row_inside, near[:, 1] * column_inside
    bilinear = (by_row.unsqueeze(2) * by_column.unsqueeze(1)).reshape(-1, height * width)
    neighbours = (2 * spread + 1) ** 2
    return rows, _merged(bilinear, place.to(dtype), weight.repeat_interleave(neighbours, 2))


def _merged(bilinear: Tensor, place: Tensor, weight: Tensor) -> list[Tensor]:
    """For each output channel, weights (H * W, P * C) of P source pixels and C channels.

    Args:
        bilinear: (S, H * W), interpolation weight of each of S samples at each output pixel.
        place: (S, P), 1 where a sample is one of the source pixels.
        weight: (O, C, S), convolution weight of each sample.
    """
    by_source = torch.einsum("sp,ocs->ospc", place, weight)
    return [torch.mm(bilinear.t(), channel.flatten(1)) for channel in by_source]


@cached(maxsize=8)
def _window(
    height: int,
    width: int,
    channels: int,
    kernel_size: int,
    taps: tuple[int, ...],
    spread: int,
    padding: str,
    device: torch.device,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The part of the window operator that depends on shapes only."""
    radius = (kernel_size - 1) // 2
    steps = range(-spread, spread + 1)
    reached = [
        (tap // kernel_size - radius + dy, tap % kernel_size - radius + dx)
        for tap in taps
        for dy in steps
        for dx in steps
    ]
    window = sorted(set(reached))
    place = torch.tensor([window.index(pixel) for pixel in reached], device=device)
    on_window = F.one_hot(place, len(window)).float()

    row, column = torch.arange(height, device=device), torch.arange(width, device=device)
    y, x = (
        torch.tensor(reached, device=device).view(len(taps), len(steps), len(steps), 2).unbind(-1)
    )
    rows, columns = y[:, :, :1] + row, x[:, 0, :, None] + column
    if padding == "zeros":
        row_inside, column_inside = (
            (place >= 0) & (place < side) for place, side in ((rows, height), (columns, width))
        )
    else:
        row_inside, column_inside = torch.ones_like(rows).bool(), torch.ones_like(columns).bool()

    y, x = torch.tensor(window, device=device).unbind(-1)
    table_rows = _table_rows(
        wrap(row[:, None] + y, height, padding).repeat_interleave(width, 0),
        wrap(column[:, None] + x, width, padding).repeat(height, 1),
        height,
        width,
        channels,
    )
    return table_rows, row_inside.unsqueeze(-1), column_inside.unsqueeze(-2), on_window


def _table_rows(rows: Tensor, columns: Tensor, height: int, width: int, channels: int) -> Tensor:
    """Rows of the table (C * H * W, images), in order (H * W, P, C), of pixels (H * W, P)."""
    pixel = rows.clamp(0, height - 1) * width + columns.clamp(0, width - 1)
    channel = torch.arange(channels, device=pixel.device) * (height * width)
    return (pixel.unsqueeze(-1) + channel).flatten().int()


def _corner_operator(
    draw: Draw, size: tuple[int, int], offsets: Tensor | None, taps: tuple[int, ...]
) -> tuple[Tensor, list[Tensor]]:
    """Keep the four bilinear corners of every tap, for offsets of any size."""
    assert offsets is not None
    (height, width), side, padding = size, draw.kernel_size, draw.options.padding
    device, dtype = draw.weight.device, draw.weight.dtype
    tap = torch.tensor(taps, device=device)
    displaced = offsets.view(-1, 2, height, width)[tap]
    row = torch.arange(height, device=device) + (tap // side - side // 2)[:, None]
    column = torch.arange(width, device=device) + (tap % side - side // 2)[:, None]
    rows, by_row = _corners(row[:, :, None], displaced[:, 0], height, padding)
    columns, by_column = _corners(column[:, None], displaced[:, 1], width, padding)

    # (2, 1, taps, H, W) and (1, 2, taps, H, W): every row corner with every column corner
    bilinear = (by_row.unsqueeze(1) * by_column).view(-1, height * width)
    rows, columns = rows.unsqueeze(1).expand(-1, 2, -1, -1, -1), columns.expand(2, -1, -1, -1, -1)
    table_rows = _table_rows(
        rows.reshape(-1, height * width).t(),
        columns.reshape(-1, height * width).t(),
        height,
        width,
        draw.weight.shape[1],
    )
    weight = draw.weight.flatten(2)[:, :, tap].repeat(1, 1, 4)
    each = torch.eye(len(bilinear), dtype=dtype, device=device)
    return table_rows, _merged(bilinear, each, weight)


def _corners(
    position: Tensor, displaced: Tensor, length: int, padding: str
) -> tuple[Tensor, Tensor]:
    """Two neighbouring pixels (2, ...) of each displaced position, and their weights (0 outside).

    Only the displacement is split into integer and fraction, so that no precision is lost far from
    the first pixel.
    """
    before = displaced.floor()
    fraction = displaced - before
    pixels = torch.stack((position + before, position + before + 1))
    pixels = wrap(pixels, length, padding).clamp(-1, length)
    inside = (pixels >= 0) & (pixels < length)
    weights = torch.where(inside, torch.stack((1 - fraction, fraction)), 0)
    return pixels.int(), weights
