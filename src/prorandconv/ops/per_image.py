"""The eager engine's way with one draw per image: nothing is shared between images.

All images and taps are sampled in one call of ``grid_sample``, in stock PyTorch operators on any
device, without a loop over images.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .block import Block, Contrast, Repeats
from .formulas import contrasted, pad_same, position_dtype, wrap


def apply(images: Tensor, block: Block, contrast: Contrast, repeats: Repeats) -> Tensor:
    """Apply block n ``repeats[n]`` times to image n.

    Images are ordered by falling number of repetitions, so that each repetition works on the
    leading ones without reading anything back from the device.
    """
    assert not isinstance(repeats, int)
    falling = sorted(range(len(repeats)), key=lambda n: -repeats[n])
    order = torch.tensor(falling, device=images.device)
    result, block, contrast = images[order], block.of(order), contrast.of(order)
    grid = None
    if block.offsets is not None:
        grid = _grid(block.offsets, block.kernel_size, block.padding)
    for repeat in range(max(repeats, default=0)):
        active = slice(sum(times > repeat for times in repeats))
        if grid is None:
            now = _grouped_conv(result[active], block.weight[active], block.padding)
        else:
            now = _sampled_conv(result[active], block.weight[active], grid[active])
        result[active] = contrasted(now, contrast.of(active), block.dims)
    return result[order.argsort()]


def _sampled_conv(images: Tensor, weight: Tensor, grid: Tensor) -> Tensor:
    """Sample all taps of image n, then mix them with kernel n."""
    sampled = F.grid_sample(images.to(grid), grid, align_corners=False).to(images)
    stacked = sampled.reshape(len(images), weight[0, 0].numel(), -1)
    return torch.bmm(weight.flatten(2), stacked).view(*weight.shape[:2], *images.shape[-2:])


def _grid(offsets: Tensor, kernel_size: int, padding: str) -> Tensor:
    """Sampling positions of all taps in grid_sample's coordinates, taps stacked along the rows."""
    count, _, height, width = offsets.shape
    tap = torch.arange(kernel_size**2, device=offsets.device)[:, None, None]
    radius = (kernel_size - 1) // 2
    row = torch.arange(height, device=offsets.device)[:, None]
    column = torch.arange(width, device=offsets.device)
    displaced = offsets.to(position_dtype(offsets.device)).view(count, -1, 2, height, width)
    rows = wrap(displaced[:, :, 0] + (row + tap // kernel_size - radius), height, padding)
    columns = wrap(displaced[:, :, 1] + (column + tap % kernel_size - radius), width, padding)
    grid = torch.stack(((2 * columns + 1) / width - 1, (2 * rows + 1) / height - 1), -1)
    return grid.view(count, -1, width, 2)


def _grouped_conv(images: Tensor, weight: Tensor, padding: str) -> Tensor:
    """Convolve image n with kernel n, as groups of one convolution."""
    count, channels, height, width = images.shape
    padded = pad_same(images.reshape(1, count * channels, height, width), weight.shape[-1], padding)
    return F.conv2d(padded, weight.flatten(0, 1), groups=count).view(count, -1, height, width)
