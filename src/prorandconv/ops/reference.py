"""The paper's formulas, written to be read: every other engine is tested against this one."""

from __future__ import annotations

import torch
from torch import Tensor

from .block import Block, Contrast, Repeats
from .formulas import contrasted, position_dtype, wrap


def bilinear(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Sample images (N, C, H, W) at real positions (H', W'); outside the image is 0."""
    height, width = images.shape[-2:]
    top, left = rows.floor(), columns.floor()
    sampled = images.new_zeros(*images.shape[:2], *rows.shape)
    for row in (top, top + 1):
        for column in (left, left + 1):
            share = (1 - (rows - row).abs()) * (1 - (columns - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            y, x = row.clamp(0, height - 1).long(), column.clamp(0, width - 1).long()
            share = torch.where(inside, share, 0).to(images.dtype)
            sampled = sampled + images[:, :, y, x] * share
    return sampled


def deform_conv(images: Tensor, weight: Tensor, offsets: Tensor, padding: str) -> Tensor:
    """Eq. 2: a sum over the taps of weight times the image at the tap's displaced position."""
    height, width = images.shape[-2:]
    kernel_size = weight.shape[-1]
    radius = (kernel_size - 1) // 2
    precise = position_dtype(images.device)
    rows = torch.arange(height, dtype=precise, device=images.device)[:, None]
    columns = torch.arange(width, dtype=precise, device=images.device)[None, :]
    result = images.new_zeros(images.shape[0], weight.shape[0], height, width)
    for tap in range(kernel_size**2):
        i, j = divmod(tap, kernel_size)
        row = wrap(rows + (i - radius) + offsets[2 * tap], height, padding)
        column = wrap(columns + (j - radius) + offsets[2 * tap + 1], width, padding)
        sampled = bilinear(images, row, column)
        result = result + torch.einsum("oc,nchw->nohw", weight[:, :, i, j], sampled)
    return result


def apply(images: Tensor, block: Block, contrast: Contrast, repeats: Repeats) -> Tensor:
    """Repeat convolution (Eq. 2), standardisation, affine (Eq. 3) and tanh; differentiable."""
    if not isinstance(repeats, int):
        singles = [
            apply(images[n : n + 1], block.of(n), contrast.of(n), times)
            for n, times in enumerate(repeats)
        ]
        return torch.cat(singles)
    offsets = block.offsets
    if offsets is None:
        offsets = images.new_zeros(2 * block.kernel_size**2, *block.size)
    for _ in range(repeats):
        images = contrasted(deform_conv(images, block.weight, offsets, block.padding), contrast)
    return images
