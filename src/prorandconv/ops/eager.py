"""The draw as one sparse linear operator, in stock PyTorch operators on any device.

Offsets and weights are the same for every image and every repetition, so the bilinear corners of
all taps are turned once into a sparse matrix over pixels. Images are laid out with one pixel's
values over the batch contiguous; applying the operator is then a weighted sum of table rows, which
is what ``embedding_bag`` computes natively. No step reads a value back to the host, loops over
images or has a shape that depends on data.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ..caching import cached
from .block import Block, Contrast, Repeats
from .formulas import wrap

_CHUNK_BYTES = 20 << 20
"""Images are processed in chunks of this size: temporaries stay in cache, and below the size from
which allocators map fresh memory at each operation."""


def apply(images: Tensor, block: Block, contrast: Contrast, repeats: Repeats) -> Tensor:
    """Convolve, standardise, scale and squash ``repeats`` times, chunk by chunk."""
    assert isinstance(repeats, int)
    operator = _GatherSum(block)
    count, channels, pixels = images.shape[0], len(operator.weights), math.prod(block.size)
    result = images.new_empty(count, channels, *block.size)
    bytes_per_image = result[:1].numel() * result.element_size()
    chunk = max(8, _CHUNK_BYTES // bytes_per_image // 8 * 8)
    affine = images.new_tensor([[1.0], [0.0]]).expand(2, channels)
    if contrast.gamma is not None and contrast.beta is not None:
        affine = torch.stack((contrast.gamma, contrast.beta))
    if contrast.tanh:
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
        if repeats % 2:
            table, spare = spare, table
        table.copy_(source)
        scale, shift = affine.unsqueeze(-1).repeat(1, 1, columns)
        for _ in range(repeats):
            operator.repeat(table, spare, scale, shift, contrast)
            table, spare = spare, table
        target.copy_(table[:, :width])
    return result


class _GatherSum:
    """One draw, prepared as indices and weights of a gather-sum."""

    def __init__(self, block: Block) -> None:
        self.size = block.size
        taps = active_taps(block.weight)
        if _reach(block) <= 1:
            self.rows, self.weights = _window_operator(block, taps)
        else:
            self.rows, self.weights = _corner_operator(block, taps)
        self.one = torch.ones((), dtype=block.weight.dtype, device=block.weight.device)
        per_pixel = self.weights[0].shape[-1]
        self.bags = torch.arange(
            0, self.rows.numel(), per_pixel, dtype=torch.int32, device=self.rows.device
        )

    def repeat(
        self, table: Tensor, result: Tensor, scale: Tensor, shift: Tensor, contrast: Contrast
    ) -> None:
        """One repetition from table to table (C * H * W, images), with an affine (C, images).

        tanh(z) is computed as 1 - 2 / (1 + exp(2z)), which takes half the time of torch's own; the
        affine has doubled z on its way.
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
            if contrast.standardise:
                # To batch_norm, each image is a channel of one channels_last picture: it
                # standardises over pixels and applies the affine in the same call.
                picture = plane.view(1, height, width, count).permute(0, 3, 1, 2)
                picture = torch.batch_norm(
                    picture, its_scale, its_shift, None, None, True, 0.0, contrast.eps, False
                )
                plane = picture.permute(0, 2, 3, 1).reshape(pixels, count)
            else:
                plane = torch.addcmul(its_shift, plane, its_scale)
            if contrast.tanh:
                torch.exp(plane, out=target)
            else:
                target.copy_(plane)
        if contrast.tanh:
            torch.add(self.one, result.add_(1).reciprocal_(), alpha=-2, out=result)


def _reach(block: Block) -> float:
    """Bound of |offsets|: given with the draw, or read where reading costs no synchronisation."""
    if block.offsets is None:
        return 0.0
    if block.reach is not None:
        return block.reach
    return float(block.offsets.abs().max()) if readable(block.offsets) else math.inf


def readable(tensor: Tensor) -> bool:
    """Whether there are values, and reading them costs no synchronisation."""
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and not torch.compiler.is_compiling()
    return plain and tensor.device.type == "cpu"


def active_taps(weight: Tensor) -> tuple[int, ...]:
    """Taps whose weights matter at this precision: Gaussian smoothing makes most of them vanish."""
    taps = weight[0, 0].numel()
    if not readable(weight):
        return tuple(range(taps))
    largest = weight.abs().amax((0, 1)).flatten()
    threshold = largest.max() * torch.finfo(weight.dtype).eps / 16
    return tuple((largest > threshold).nonzero().flatten().tolist()) or (taps // 2,)


def _window_operator(block: Block, taps: tuple[int, ...]) -> tuple[Tensor, list[Tensor]]:
    """Merge all corners into one window, for |offsets| <= 1 (or none).

    A tap displaced by d along an axis reaches its neighbours at -1, 0 and 1 with the hat weights
    max(0, -d), 1 - |d| and max(0, d). Which pixel of the window a (tap, neighbour, neighbour) falls
    on is fixed, so merging is one matrix product per output channel.
    """
    height, width = block.size
    spread = 0 if block.offsets is None else 1
    device, dtype = block.weight.device, block.weight.dtype
    rows, row_inside, column_inside, falls_on = _window(
        height, width, block.weight.shape[1], block.kernel_size, taps, spread, block.padding, device
    )
    weight = block.weight.flatten(2)[:, :, list(taps)]
    if block.offsets is None:
        hats = torch.ones(len(taps), 2, 1, 1, 1, dtype=dtype, device=device)
    else:
        displaced = block.offsets.view(-1, 2, height, width)[list(taps)]
        before, after = (-displaced).clamp_(min=0), displaced.clamp(min=0)
        hats = torch.stack((before, 1 - before - after, after), 2)
    by_row, by_column = hats[:, 0] * row_inside, hats[:, 1] * column_inside
    shares = (by_row.unsqueeze(2) * by_column.unsqueeze(1)).reshape(-1, height * width)
    neighbours = (2 * spread + 1) ** 2
    return rows, _merged(shares, falls_on.to(dtype), weight.repeat_interleave(neighbours, 2))


def _merged(shares: Tensor, falls_on: Tensor, weight: Tensor) -> list[Tensor]:
    """For each output channel, weights (H * W, P * C) of P source pixels and C channels.

    Args:
        shares: (S, H * W), what each of S samples counts for at each output pixel.
        falls_on: (S, P), 1 where a sample is one of the source pixels.
        weight: (O, C, S), convolution weight of each sample.
    """
    by_source = torch.einsum("sp,ocs->ospc", falls_on, weight)
    return [torch.mm(shares.t(), channel.flatten(1)) for channel in by_source]


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
    falls_on = F.one_hot(place, len(window)).float()

    row, column = torch.arange(height, device=device), torch.arange(width, device=device)
    y, x = (
        torch.tensor(reached, device=device).view(len(taps), len(steps), len(steps), 2).unbind(-1)
    )
    rows, columns = y[:, :, :1] + row, x[:, 0, :, None] + column
    row_inside = (rows >= 0) & (rows < height) | (padding != "zeros")
    column_inside = (columns >= 0) & (columns < width) | (padding != "zeros")

    y, x = torch.tensor(window, device=device).unbind(-1)
    table_rows = _table_rows(
        wrap(row[:, None] + y, height, padding).repeat_interleave(width, 0),
        wrap(column[:, None] + x, width, padding).repeat(height, 1),
        height,
        width,
        channels,
    )
    return table_rows, row_inside.unsqueeze(-1), column_inside.unsqueeze(-2), falls_on


def _table_rows(rows: Tensor, columns: Tensor, height: int, width: int, channels: int) -> Tensor:
    """Rows of the table (C * H * W, images), in order (H * W, P, C), of pixels (H * W, P)."""
    pixel = rows.clamp(0, height - 1) * width + columns.clamp(0, width - 1)
    channel = torch.arange(channels, device=pixel.device) * (height * width)
    return (pixel.unsqueeze(-1) + channel).flatten().int()


def _corner_operator(block: Block, taps: tuple[int, ...]) -> tuple[Tensor, list[Tensor]]:
    """Keep the four bilinear corners of every tap, for offsets of any size."""
    assert block.offsets is not None
    height, width = block.size
    device, dtype = block.weight.device, block.weight.dtype
    tap = torch.tensor(taps, device=device)
    radius = (block.kernel_size - 1) // 2
    displaced = block.offsets.view(-1, 2, height, width)[tap]
    row = torch.arange(height, device=device) + (tap // block.kernel_size - radius)[:, None]
    column = torch.arange(width, device=device) + (tap % block.kernel_size - radius)[:, None]
    rows, row_shares = corners(row[:, :, None], displaced[:, 0], height, block.padding)
    columns, column_shares = corners(column[:, None], displaced[:, 1], width, block.padding)

    # (2, 1, taps, H, W) and (1, 2, taps, H, W): every row corner with every column corner
    shares = (row_shares.unsqueeze(1) * column_shares).view(-1, height * width)
    rows, columns = rows.unsqueeze(1).expand(-1, 2, -1, -1, -1), columns.expand(2, -1, -1, -1, -1)
    table_rows = _table_rows(
        rows.reshape(-1, height * width).t(),
        columns.reshape(-1, height * width).t(),
        height,
        width,
        block.weight.shape[1],
    )
    weight = block.weight.flatten(2)[:, :, tap].repeat(1, 1, 4)
    return table_rows, _merged(shares, torch.eye(len(shares), dtype=dtype, device=device), weight)


def corners(
    position: Tensor, displaced: Tensor, length: int, padding: str
) -> tuple[Tensor, Tensor]:
    """Two neighbouring pixels (2, ...) of each displaced position, and their shares (0 outside).

    Only the displacement is split into whole and fraction, so that no precision is lost far from
    the first pixel.
    """
    whole = displaced.floor()
    after = displaced - whole
    pixels = torch.stack((position + whole, position + whole + 1))
    pixels = wrap(pixels, length, padding).clamp(-1, length)
    inside = (pixels >= 0) & (pixels < length)
    shares = torch.where(inside, torch.stack((1 - after, after)), 0)
    return pixels.int(), shares
