"""Eager implementation for few images, or images with a draw each: all taps of a band of rows.

An operator that is built once pays off over many images only, and takes kilobytes a pixel. Here the
taps of each image are sampled anew in each repetition, as many rows at a time as memory allows, in
stock PyTorch operators on any device, without reading a value back to the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..fields import Field
from .formulas import active_taps, axes, pad_same, position_dtype, unsqueeze_spatial, wrap

if TYPE_CHECKING:
    from ..draw import Draw

_SAMPLES_ON_CPU = 1 << 13
"""Of a band of rows: its temporaries stay in cache, and are small beside the images."""
_SAMPLES = 1 << 22
"""Elsewhere, where each operator has its price."""


def apply(images: Tensor, draw: Draw) -> Tensor:
    """Convolve, standardise, scale and squash, image n ``repeats[n]`` times if they differ.

    Images are ordered by falling number of repetitions, so that each repetition works on the
    leading ones.
    """
    size = (images.shape[2], images.shape[3])
    if not isinstance(draw.repeats, tuple):
        taps = active_taps(draw.weight)
        for _ in range(draw.repeats):
            convolved = _convolved(images, draw, taps, _bands(draw, size, taps, images))
            images = contrasted_in_place(convolved, draw)
        return images
    repeats, taps = draw.repeats, tuple(range(draw.kernel_size**2))
    falling = sorted(range(len(repeats)), key=lambda n: -repeats[n])
    order = torch.tensor(falling, device=images.device)
    result, draw = images[order], draw.of(falling)
    bands = list(_bands(draw, size, taps, images))
    for repeat in range(draw.most_repeats):
        many = sum(times > repeat for times in repeats)
        convolved = _convolved(result[:many], draw, taps, bands)
        result[:many] = contrasted_in_place(convolved, draw)
    return result[order.argsort()]


def _convolved(
    images: Tensor, draw: Draw, taps: tuple[int, ...], bands: Iterable[tuple[slice, Tensor]]
) -> Tensor:
    """The images, with a draw each the first ones of a batch: all taps sampled, then mixed."""
    count, channels, height, width = images.shape
    weight = draw.weight[:count] if draw.per_image else draw.weight[None]
    if draw.offsets is None:
        return _plainly_convolved(images, weight, draw.options.padding)
    mixing = weight.flatten(3)[..., list(taps)].flatten(2)  # (1 or n, C_out, C_in * taps)
    source = images.to(position_dtype(images.device))
    result = images.new_empty(count, weight.shape[1], height, width)
    for rows, grid in bands:
        grid = grid[:count] if draw.per_image else grid.expand(count, -1, -1, -1)
        sampled = F.grid_sample(source, grid, align_corners=False).to(images.dtype)
        sampled = sampled.view(count, channels * len(taps), -1)
        if draw.per_image:
            mixed = torch.bmm(mixing, sampled)
        else:  # one by one: the bits of an image do not depend on the others
            mixed = torch.stack([mixing[0] @ of_image for of_image in sampled])
        result[:, :, rows] = mixed.view(count, weight.shape[1], -1, width)
    return result


def _bands(
    draw: Draw, size: tuple[int, int], taps: tuple[int, ...], images: Tensor
) -> Iterator[tuple[slice, Tensor]]:
    """Where taps sample rows of images, as grid_sample has it (1 or n, taps * rows, W, 2)."""
    if draw.offsets is None:
        return
    (height, width), side, padding = size, draw.kernel_size, draw.options.padding
    offsets = draw.offsets if draw.per_image else draw.offsets[None]
    tap = torch.tensor(taps, device=images.device)
    most = _SAMPLES_ON_CPU if images.device.type == "cpu" else _SAMPLES
    # Own draws keep their grid for all repetitions, and it is as large in bands.
    step = height if draw.per_image else max(most // (len(taps) * width), 1)
    column = torch.arange(width, device=tap.device) + (tap % side - side // 2)[:, None, None]
    for top in range(0, height, step):
        rows = slice(top, min(top + step, height))
        some = offsets.rows(rows) if isinstance(offsets, Field) else offsets[:, :, rows]
        some = some.to(position_dtype(some.device))
        some = some.view(some.shape[0], -1, 2, *some.shape[2:])[:, tap]
        row = torch.arange(rows.start, rows.stop, device=tap.device)[:, None]
        row = row + (tap // side - side // 2)[:, None, None]
        y = wrap(some[:, :, 0] + row, height, padding)
        x = wrap(some[:, :, 1] + column, width, padding)
        grid = torch.stack(((2 * x + 1) / width - 1, (2 * y + 1) / height - 1), -1)
        yield rows, grid.view(grid.shape[0], -1, width, 2)


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
