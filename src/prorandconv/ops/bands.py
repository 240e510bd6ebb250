"""The eager engine's way with few images of one draw: in bands of rows.

An operator that is built once pays off over many images only, and takes kilobytes a pixel. Here it
is built anew for each band and repetition, and nothing is kept but the images; offsets that are
made of waves are made band by band, too. In stock PyTorch operators on any device, without reading
a value back to the host.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .block import Block, Contrast, Repeats
from .eager import active_taps, corners
from .formulas import axes, over_images

FEW_IMAGES = 4
"""So many images of one draw go this way."""
_BANDS = 32
_LEAST_PIXELS = 1 << 10
"""An image has so many bands, unless they would be smaller than this: each costs its operators."""


def apply(images: Tensor, block: Block, contrast: Contrast, repeats: Repeats) -> Tensor:
    """Convolve, standardise, scale and squash ``repeats`` times."""
    assert isinstance(repeats, int)
    taps = torch.tensor(active_taps(block.weight), device=images.device)
    for _ in range(repeats):
        convolved = _convolved(images, block, taps)
        images = contrasted_in_place(convolved, contrast, block.dims)
    return images


def _convolved(images: Tensor, block: Block, taps: Tensor) -> Tensor:
    """All taps sampled from a table (H * W, N * C), then mixed: band by band."""
    (height, width), (count, channels) = block.size, images.shape[:2]
    result = images.new_empty(count, len(block.weight), height, width)
    table = images.permute(2, 3, 0, 1).reshape(height * width, count * channels)
    weight = block.weight.flatten(2)[:, :, taps].permute(2, 1, 0).flatten(0, 1)
    step = max(-(-height // _BANDS), _LEAST_PIXELS // width, 1)
    for top in range(0, height, step):
        rows = slice(top, min(top + step, height))
        places, shares = _corners_of_taps(block, taps, rows)
        bags = torch.arange(0, len(places), 4, dtype=torch.int32, device=images.device)
        sampled = F.embedding_bag(places, table, bags, mode="sum", per_sample_weights=shares)
        by_pixel = sampled.view(-1, len(taps), count, channels).transpose(1, 2)
        mixed = by_pixel.reshape(-1, len(weight)) @ weight
        result[:, :, rows] = mixed.view(-1, width, count, len(block.weight)).permute(2, 3, 0, 1)
    return result


def _corners_of_taps(block: Block, taps: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
    """Four places in the table for each pixel of some rows and each tap, and their shares."""
    (height, width), radius = block.size, (block.kernel_size - 1) // 2
    offsets = block.rows_of_offsets(rows)
    if offsets is None:
        offsets = block.weight.new_zeros(2 * block.kernel_size**2, rows.stop - rows.start, width)
    displaced = offsets.view(-1, 2, *offsets.shape[1:])[taps].permute(1, 2, 3, 0).contiguous()
    row = torch.arange(rows.start, rows.stop, device=taps.device)[:, None, None]
    column = torch.arange(width, device=taps.device)[:, None]
    row, column = row + taps // block.kernel_size, column + taps % block.kernel_size
    y, down = corners(row - radius, displaced[0], height, block.padding)
    x, across = corners(column - radius, displaced[1], width, block.padding)
    y, x = y.clamp_(0, height - 1).mul_(width), x.clamp_(0, width - 1)
    places = torch.stack([top + left for top in y for left in x], -1)
    shares = torch.stack([part * other for part in down for other in across], -1)
    return places.view(-1), shares.view(-1)


def contrasted_in_place(images: Tensor, contrast: Contrast, dims: int) -> Tensor:
    """What ``formulas.contrasted`` computes, without copies of the images."""
    if contrast.standardise:
        variance, mean = torch.var_mean(images, axes(dims), correction=0, keepdim=True)
        images = images.sub_(mean).mul_((variance + contrast.eps).rsqrt())
    if contrast.gamma is not None and contrast.beta is not None:
        scale, shift = over_images(contrast.gamma, dims), over_images(contrast.beta, dims)
        images = images.mul_(scale).add_(shift)
    return images.tanh_() if contrast.tanh else images
