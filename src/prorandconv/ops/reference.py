"""The paper's formulas, written to be read: every other engine is tested against this one.

Images have two axes, volumes three; nothing else differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from operator import and_, mul
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..fields import Field
from .formulas import contrasted, position_dtype, wrap

if TYPE_CHECKING:
    from ..draw import Draw


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
        nearness = reduce(mul, (1 - (position - pixel).abs() for position, pixel, _ in axes))
        inside = reduce(and_, ((pixel >= 0) & (pixel < side) for _, pixel, side in axes))
        nearest = (pixel.clamp(0, side - 1).long() for _, pixel, side in axes)
        place: tuple[Any, ...] = (..., *nearest)
        weight = torch.where(inside, nearness, 0).to(images.dtype)
        sampled = sampled + images[place] * weight
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


def apply(images: Tensor, draw: Draw) -> Tensor:
    """Repeat convolution (Eq. 2), standardisation, affine (Eq. 3) and tanh; differentiable."""
    if isinstance(draw.repeats, tuple):
        singles = [apply(image[None], draw[n]) for n, image in enumerate(images)]
        return torch.cat(singles) if singles else images
    dims, options, offsets = draw.spatial_dims, draw.options, draw.offsets
    if isinstance(offsets, Field):
        offsets = offsets.dense()
    if offsets is None:
        offsets = images.new_zeros(dims * draw.kernel_size**dims, *images.shape[2:])
    for _ in range(draw.repeats):
        convolved = deform_conv(images, draw.weight, offsets, options.padding)
        images = contrasted(convolved, options.contrast, draw.gamma, draw.beta, options.eps, dims)
    return images


def status() -> str:
    """Whether this engine can be used here."""
    return "available"


def unsupported_reason(images: Tensor, draw: Draw) -> str | None:
    """Nothing is unsupported."""
    return None
