"""Eager implementation for few images, or images with a draw each: all taps of a band of rows.

An operator that is built once pays off over many images only, and takes kilobytes a pixel. Here the
taps of each image are sampled anew in each repetition, as many rows at a time as memory allows, in
stock PyTorch operators on any device, without reading a value back to the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..fields import Field
from .formulas import active_taps, axes, pad_same, position_dtype, unsqueeze_spatial, wrap

if TYPE_CHECKING:
    from ..draw import Draw

_SAMPLES_ON_CPU = 1 << 15
"""Of a band of rows: its temporaries stay in cache, and are small beside the images."""
_SAMPLES = 1 << 22
"""Elsewhere, where each operator has its price."""


def apply(images: Tensor, draw: Draw) -> Tensor:
    """Convolve, standardise, scale and squash, image n ``repeats[n]`` times if they differ.

    Images are ordered by falling number of repetitions, so that each repetition works on the
    leading ones.
    """
    if not isinstance(draw.repeats, tuple):
        for _ in range(draw.repeats):
            images = contrasted_in_place(_convolved(images, draw, len(images)), draw)
        return images
    repeats = draw.repeats
    falling = sorted(range(len(repeats)), key=lambda n: -repeats[n])
    order = torch.tensor(falling, device=images.device)
    result, draw = images[order], draw.of(falling)
    for repeat in range(draw.most_repeats):
        many = sum(times > repeat for times in repeats)
        now = _convolved(result[:many], draw, many)
        result[:many] = contrasted_in_place(now, draw)
    return result[order.argsort()]


def _convolved(images: Tensor, draw: Draw, many: int) -> Tensor:
    """The first ``many`` images, each with its kernel or the shared one."""
    padding, weight, offsets = draw.options.padding, draw.weight, draw.offsets
    weight = weight[:many] if draw.per_image else weight[None]
    if offsets is None:
        return _plainly_convolved(images, weight, padding)
    offsets = offsets[:many] if draw.per_image else offsets[None]
    taps = tuple(range(draw.kernel_size**2))
    if not draw.per_image:
        taps = active_taps(draw.weight)
    tap = torch.tensor(taps, device=images.device)
    mixing = weight.flatten(3)[..., tap].flatten(2)  # (1 or n, C_out, C_in * taps)
    count, (height, width) = len(images), images.shape[2:]
    source = images.to(position_dtype(images.device))
    result = images.new_empty(count, weight.shape[1], height, width)
    most = _SAMPLES_ON_CPU if images.device.type == "cpu" else _SAMPLES
    step = max(most // (max(count, 1) * len(taps) * width), 1)
    for top in range(0, height, step):
        rows = slice(top, min(top + step, height))
        some = offsets.rows(rows) if isinstance(offsets, Field) else offsets[:, :, rows]
        grid = _grid(some, tap, rows, (height, width), draw)
        sampled = F.grid_sample(source, grid.expand(count, -1, -1, -1), align_corners=False)
        sampled = sampled.to(images.dtype).view(count, mixing.shape[2], -1)
        result[:, :, rows] = torch.matmul(mixing, sampled).view(*result.shape[:2], -1, width)
    return result


def _grid(offsets: Tensor, tap: Tensor, rows: slice, size: tuple[int, int], draw: Draw) -> Tensor:
    """Where taps sample some rows, in grid_sample's coordinates (1 or n, taps * rows, W, 2)."""
    (height, width), side = size, draw.kernel_size
    displaced = offsets.to(position_dtype(offsets.device))
    displaced = displaced.view(len(offsets), -1, 2, *offsets.shape[2:])[:, tap]
    row = torch.arange(rows.start, rows.stop, device=tap.device)[:, None]
    column = torch.arange(width, device=tap.device)
    row = row + (tap // side - side // 2)[:, None, None]
    column = column + (tap % side - side // 2)[:, None, None]
    y = wrap(displaced[:, :, 0] + row, height, draw.options.padding)
    x = wrap(displaced[:, :, 1] + column, width, draw.options.padding)
    grid = torch.stack(((2 * x + 1) / width - 1, (2 * y + 1) / height - 1), -1)
    return grid.view(len(offsets), -1, width, 2)


def _plainly_convolved(images: Tensor, weight: Tensor, padding: str) -> Tensor:
    """Convolve image n with kernel n, as groups of one convolution, or all with the one kernel."""
    own, size = len(weight), images.shape[2:]
    padded = pad_same(images.reshape(-1, own * images.shape[1], *size), weight.shape[-1], padding)
    return F.conv2d(padded, weight.flatten(0, 1), groups=own).view(len(images), -1, *size)


def contrasted_in_place(images: Tensor, draw: Draw) -> Tensor:
    """What ``formulas.contrasted`` computes, without copies of images (n, C, ...).

    With a draw per image, the images are the first n of them.
    """
    parts, dims = draw.options.contrast, images.dim() - 2
    if "standardise" in parts:
        variance, mean = torch.var_mean(images, axes(dims), correction=0, keepdim=True)
        images = images.sub_(mean).mul_((variance + draw.options.eps).rsqrt())
    if "affine" in parts and draw.gamma is not None and draw.beta is not None:
        gamma, beta = draw.gamma, draw.beta
        if draw.per_image:
            gamma, beta = gamma[: len(images)], beta[: len(images)]
        images = images.mul_(unsqueeze_spatial(gamma, dims)).add_(unsqueeze_spatial(beta, dims))
    return images.tanh_() if "tanh" in parts else images
