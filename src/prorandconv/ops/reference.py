"""The paper's formulas, written to be read: every other engine is tested against this one.

Images have two axes, volumes three; nothing else differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from operator import and_, mul
from typing import Any

import torch
from torch import Tensor

from .block import Block, Contrast, Repeats
from .formulas import contrasted, position_dtype, wrap


def interpolated(images: Tensor, positions: Sequence[Tensor]) -> Tensor:
    """Sample images (N, C, ...) linearly between pixels; outside the image is 0.

    Args:
        images: (N, C, H, W), or volumes (N, C, D, H, W).
        positions: one tensor of real positions for each axis, all of one shape.
    """
    size = images.shape[2:]
    sampled = images.new_zeros(*images.shape[:2], *positions[0].shape)
    neighbours = [(position.floor(), position.floor() + 1) for position in positions]
    for corner in product(*neighbours):
        axes = list(zip(positions, corner, size, strict=True))
        share = reduce(mul, (1 - (position - pixel).abs() for position, pixel, _ in axes))
        inside = reduce(and_, ((pixel >= 0) & (pixel < side) for _, pixel, side in axes))
        nearest = (pixel.clamp(0, side - 1).long() for _, pixel, side in axes)
        place: tuple[Any, ...] = (..., *nearest)
        share = torch.where(inside, share, 0).to(images.dtype)
        sampled = sampled + images[place] * share
    return sampled


def deform_conv(images: Tensor, weight: Tensor, offsets: Tensor, padding: str) -> Tensor:
    """Eq. 2: a sum over the taps of weight times the image at the tap's displaced position."""
    size = images.shape[2:]
    kernel_size, dims = weight.shape[-1], len(size)
    radius = (kernel_size - 1) // 2
    precise = position_dtype(images.device)
    lines = (torch.arange(side, dtype=precise, device=images.device) for side in size)
    here = torch.meshgrid(*lines, indexing="ij")
    displaced = offsets.view(-1, dims, *size)
    result = images.new_zeros(images.shape[0], weight.shape[0], *size)
    for number, tap in enumerate(product(range(kernel_size), repeat=dims)):
        positions = [
            wrap(pixel + (place - radius) + offset, side, padding)
            for pixel, place, offset, side in zip(here, tap, displaced[number], size, strict=True)
        ]
        sampled = interpolated(images, positions)
        of_tap = weight.flatten(2)[:, :, number]
        result = result + torch.einsum("oc,nc...->no...", of_tap, sampled)
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
        offsets = images.new_zeros(block.dims * block.taps, *block.size)
    for _ in range(repeats):
        convolved = deform_conv(images, block.weight, offsets, block.padding)
        images = contrasted(convolved, contrast, block.dims)
    return images
