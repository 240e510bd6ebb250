"""Where a draw takes each pixel from: the one displacement that stands for all taps."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from . import checks
from .caching import cached
from .errors import ProRandConvError
from .ops.formulas import wrap
from .options import PADDINGS, Padding
from .params import BlockParams

Border = Padding | Literal["extended"]
"""What lies outside of the image; ``"extended"``: more image, displaced as the nearest pixel is."""


def displacement(
    params: BlockParams, size: tuple[int, int] | None = None, *, padding: Padding | None = None
) -> Tensor:
    """How far away each pixel of the augmented images has been in the original, in pixels.

    The content of pixel (y, x) comes from (y + dy, x + dx). In one repetition the displacement of a
    pixel is the mean of its taps' positions, weighted by the kernel's magnitude summed over
    channels. Repetitions follow each other: each samples the displacement of those before where its
    own displacement leads. Under the padding ``"zeros"``, what once was outside stays outside;
    under ``"reflect"`` and ``"replicate"``, all positions are inside, where the padding has its
    pixels from.

    Args:
        params: the draw. Its choice of images (p < 1) matters only where each image has a draw of
            its own: those that are not augmented have the displacement 0.
        size: height and width of the images, by default those that the draw is for. Draws without
            offsets fit every size.
        padding: border mode, by default that of the draw's options, or else ``"zeros"``.

    Returns:
        Tensor ``(2, H, W)`` of dy and dx; with one draw per image, ``(N, 2, H, W)``.

    Example:
        >>> from prorandconv import ProRandConv
        >>> still = ProRandConv(kernel_size=1, offsets=None).draw(torch.rand(3, 8, 9))
        >>> displacement(still).shape, displacement(still).abs().max().item()
        (torch.Size([2, 8, 9]), 0.0)
    """
    if not isinstance(params, BlockParams):
        raise ProRandConvError.about(
            "params", type(params).__name__, "a draw, made with ProRandConv.draw(x)"
        )
    if padding is None:
        padding = (params.options or {}).get("padding", "zeros")
    return composed(params, size, checks.one_of("padding", padding, PADDINGS))


def composed(params: BlockParams, size: tuple[int, int] | None, border: Border) -> Tensor:
    """The displacement of all repetitions, (2, H, W) or (N, 2, H, W)."""
    size = _size(params, size)
    weight, offsets, mix = params.weight, params.offsets, getattr(params, "mix", None)
    if isinstance(params.repeats, int):
        repeats = [params.repeats]
        weight, offsets = weight.unsqueeze(0), None if offsets is None else offsets.unsqueeze(0)
    else:
        chosen = range(len(params.repeats)) if params.chosen is None else params.chosen.tolist()
        repeats = [times if n in chosen else 0 for n, times in enumerate(params.repeats)]
    total = weight.new_zeros(len(repeats), 2, *size)
    kernels = weight.unbind(-5) if params.layered else [weight]
    steps = [_step(kernel, offsets, size, border) for kernel in kernels[: max(repeats, default=0)]]
    for number in range(max(repeats, default=0)):
        step = steps[number if params.layered else 0]
        active = [n for n, times in enumerate(repeats) if times > number]
        if len(active) == len(repeats):
            total = _followed(step, total, border) if number else step
        else:
            total[active] = _followed(step[active], total[active], border)
    if mix is not None:
        total = total * (1 - mix.view(-1, 1, 1, 1))
    return total if params.per_image else total.squeeze(0)


def sampled(fields: Tensor, positions: Tensor) -> Tensor:
    """Fields (N, c, H, W) at real positions (N, 2, H', W'), bilinear; nearest pixel outside."""
    height, width = fields.shape[-2:]
    y, x = positions.unbind(1)
    grid = torch.stack(((2 * x + 1) / width - 1, (2 * y + 1) / height - 1), -1)
    return F.grid_sample(fields, grid, padding_mode="border", align_corners=False)


@cached(maxsize=8)
def pixels(size: tuple[int, int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Row and column of each pixel, (2, H, W)."""
    sides = [torch.arange(side, dtype=dtype, device=device) for side in size]
    return torch.stack(torch.meshgrid(*sides, indexing="ij"))


def outside(positions: Tensor, size: tuple[int, int]) -> Tensor:
    """Whether the pixels nearest to positions (N, 2, H', W') are outside of the image."""
    y, x = positions.unbind(1)
    height, width = size
    return (y < -0.5) | (y > height - 0.5) | (x < -0.5) | (x > width - 0.5)


def _step(weight: Tensor, offsets: Tensor | None, size: tuple[int, int], border: Border) -> Tensor:
    """The displacement (N, 2, H, W) of one repetition: the mean of the taps' positions."""
    count, kernel_size, device = len(weight), weight.shape[-1], weight.device
    magnitude = weight.abs().sum((-4, -3)).view(count, 1, -1)
    tiny = torch.finfo(weight.dtype).tiny
    share = magnitude / magnitude.sum(-1, keepdim=True).clamp_min(tiny)
    taps = pixels((kernel_size, kernel_size), weight.dtype, device) - kernel_size // 2
    step = torch.matmul(share, taps.view(2, -1).t()).view(count, 2, 1, 1).expand(-1, -1, *size)
    if offsets is not None:
        fields = offsets.to(weight).reshape(count, share.shape[-1], -1)
        step = step + torch.bmm(share, fields).view(count, 2, *size)
    if border == "extended":
        return step
    here = pixels(size, weight.dtype, device)
    axes = zip((step + here).unbind(1), size, strict=True)
    return torch.stack([wrap(axis, length, border) for axis, length in axes], 1) - here


def _followed(step: Tensor, total: Tensor, border: Border) -> Tensor:
    """What a step and then the total of the repetitions before it, where it leads, sum up to."""
    size = (step.shape[-2], step.shape[-1])
    positions = step + pixels(size, step.dtype, step.device)
    before = sampled(total, positions)
    if border == "zeros":
        before.masked_fill_(outside(positions, size).unsqueeze(1), 0)
    return step + before


def _size(params: BlockParams, size: tuple[int, int] | None) -> tuple[int, int]:
    """Height and width of the images that a draw is asked about."""
    if size is None:
        if params.size is None:
            raise ProRandConvError.about("size", None, "(height, width): this draw has none")
        return params.size
    size = checks.size("size", size)
    if params.offsets is not None and size != params.size:
        raise ProRandConvError.about(
            "size", size, f"{params.size}, for which the draw is, or params.resized({size})"
        )
    return size
