"""Where a draw takes each pixel from: the one displacement that stands for all taps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from . import checks
from .caching import cached, without_autocast
from .draw import Draw
from .errors import ProRandConvError
from .fields import Field
from .ops.formulas import unsqueeze_spatial, wrap
from .options import PADDINGS, Padding, Size

Border = Padding | Literal["extended"]
"""What lies outside of the image; ``"extended"``: more image, displaced as the nearest pixel is."""


def displacement(draw: Draw, size: Size | None = None, *, padding: Padding | None = None) -> Tensor:
    """How far away each pixel of the augmented images has been in the original, in pixels.

    The content of pixel (y, x) comes from (y + dy, x + dx). In one repetition the displacement of a
    pixel is the mean of its taps' positions, weighted by the kernel's magnitude summed over
    channels. Repetitions are composed: each samples the displacement of those before where its own
    displacement leads. Under the padding ``"zeros"``, what once was outside stays outside;
    under ``"reflect"`` and ``"replicate"``, all positions are inside, where the padding has its
    pixels from.

    Args:
        draw: the draw. One draw for all images has the displacement of those that it augments;
            with one draw per image, the others have the displacement 0.
        size: height and width of the images, by default those that the draw is for. Draws without
            offsets fit every size.
        padding: border mode, by default that of the draw's options.

    Returns:
        Tensor ``(2, H, W)`` of dy and dx; with one draw per image, ``(N, 2, H, W)``. For volumes,
        ``(3, D, H, W)`` of dz, dy and dx.

    Example:
        >>> from prorandconv import ProRandConv
        >>> still = ProRandConv(kernel_size=1, offsets=None).draw(torch.rand(3, 8, 9))
        >>> displacement(still).shape, displacement(still).abs().max().item()
        (torch.Size([2, 8, 9]), 0.0)
    """
    if not isinstance(draw, Draw):
        raise ProRandConvError.about(
            "draw", type(draw).__name__, "a draw, made with ProRandConv.draw(x)"
        )
    padding = draw.options.padding if padding is None else padding
    return composed(draw, size, checks.one_of("padding", padding, PADDINGS))


def composed(draw: Draw, size: Size | None, border: Border) -> Tensor:
    """The displacement of all repetitions, (2, H, W) or (N, 2, H, W)."""
    size, dims = _size(draw, size), draw.spatial_dims
    weight, offsets, repeats = draw.weight, draw.offsets, draw.repeats
    if isinstance(repeats, tuple):
        changed = range(len(repeats)) if draw.changed is None else draw.changed
        repeats = tuple(times if n in changed else 0 for n, times in enumerate(repeats))
    else:
        weight, offsets = weight.unsqueeze(0), None if offsets is None else offsets[None]
        repeats = (0 if draw.changed == [] else repeats,)
    kernels = weight.unbind(-dims - 3) if draw.layered else (weight,)
    with without_autocast(weight.device):
        steps = (_step(kernel, offsets, size, border) for kernel in kernels)
        parts = _each(steps, repeats) if draw.layered else _powers(next(steps), repeats, border)
        total = _composition(parts, len(repeats), border)
        if total is None:
            total = weight.new_zeros(len(repeats), dims, *size)
        if draw.mix is not None:
            total = total * unsqueeze_spatial(1 - draw.mix.view(-1), dims + 1)
    return total if draw.per_image else total.squeeze(0)


def _composition(
    parts: Iterable[tuple[Tensor, list[int]]], count: int, border: Border
) -> Tensor | None:
    """All parts composed, of the draws that have them; None if there are no parts."""
    total: Tensor | None = None
    for part, active in parts:
        if len(active) == count:
            total = part if total is None else _compose(part, total, border)
        elif active:
            total = torch.zeros_like(part) if total is None else total
            where = torch.tensor(active, device=total.device)
            total = total.index_copy(0, where, _compose(part[where], total[where], border))
    return total


def _each(steps: Iterable[Tensor], repeats: Sequence[int]) -> Iterator[tuple[Tensor, list[int]]]:
    """Repetitions that differ from each other, and the draws that have them."""
    for number, step in zip(range(max(repeats, default=0)), steps, strict=False):
        yield step, [n for n, times in enumerate(repeats) if times > number]


def _powers(
    step: Tensor, repeats: Sequence[int], border: Border
) -> Iterator[tuple[Tensor, list[int]]]:
    """Equal repetitions as 1, 2, 4, ... of them at once, and the draws that have them.

    Ten repetitions are composed in four samplings instead of nine.
    """
    bits = max(repeats, default=0).bit_length()
    for bit in range(bits):
        yield step, [n for n, times in enumerate(repeats) if times >> bit & 1]
        if bit < bits - 1:
            step = _compose(step, step, border)


def _step(weight: Tensor, offsets: Tensor | Field | None, size: Size, border: Border) -> Tensor:
    """One repetition: the mean of the taps' positions (N, 2, H, W), y and x in pixels."""
    count, kernel_size, dims = len(weight), weight.shape[-1], len(size)
    kind = (weight.dtype, weight.device)
    magnitude = weight.abs().sum((-dims - 2, -dims - 1)).view(count, 1, kernel_size**dims)
    tiny = torch.finfo(weight.dtype).tiny
    mean = magnitude / magnitude.sum(-1, keepdim=True).clamp_min(tiny)
    taps = torch.matmul(mean, _taps(kernel_size, dims, *kind)).view(count, dims, *(1,) * dims)
    if offsets is None:
        step = taps.expand(-1, -1, *size)
    elif isinstance(offsets, Field):
        # The mean of the fields is the field of the mean coefficients: one for all taps.
        modes = offsets.coefficients.to(weight)
        each = (count, kernel_size**dims, dims * math.prod(modes.shape[2:]))
        means = torch.bmm(mean, modes.reshape(each))
        step = Field(means.view(count, dims, *modes.shape[2:]), size).dense().add_(taps)
    else:
        fields = offsets.to(weight).reshape(count, kernel_size**dims, dims * math.prod(size))
        step = torch.bmm(mean, fields).view(count, dims, *size).add_(taps)
    if border in ("reflect", "replicate"):
        here = pixels(size, *kind)
        axes = zip((step + here).unbind(1), size, strict=True)
        step = torch.stack([wrap(axis, length, border) for axis, length in axes], 1) - here
    return step


def _compose(step: Tensor, before: Tensor, border: Border) -> Tensor:
    """A step composed with those before it, which are sampled where the step leads."""
    kind = (tuple(step.shape[2:]), step.dtype, step.device)
    grid = (step / _half(*kind) + _centres(*kind)).flip(1)
    sampled = F.grid_sample(before, grid.movedim(1, -1), padding_mode="border", align_corners=False)
    if border == "zeros":
        sampled.masked_fill_(grid.abs().amax(1, keepdim=True) > 1, 0)  # has left the image
    return step + sampled


@cached(maxsize=16)
def pixels(size: Size, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Row and column of each pixel, (2, H, W); of each voxel plane, row and column."""
    sides = [torch.arange(side, dtype=dtype, device=device) for side in size]
    return torch.stack(torch.meshgrid(*sides, indexing="ij"))


@cached(maxsize=16)
def _centres(size: Size, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Y and x of each pixel's centre (2, H, W), from -1 to 1 as grid_sample has them."""
    return (pixels(size, dtype, device) + 0.5) / _half(size, dtype, device) - 1


@cached(maxsize=16)
def _half(size: Size, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Half the height and width, (2, 1, 1)."""
    return unsqueeze_spatial(torch.tensor(size, dtype=dtype, device=device), len(size)) / 2


@cached(maxsize=16)
def _taps(kernel_size: int, dims: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Row and column (k², 2) of a kernel's taps, from the middle; of three ``dims``, (k³, 3)."""
    taps = pixels((kernel_size,) * dims, dtype, device) - kernel_size // 2
    return taps.flatten(1).t()


def _size(draw: Draw, size: Size | None) -> Size:
    """Height and width of the images that a draw is asked about."""
    if size is None:
        assert draw.size is not None
        return draw.size
    size = checks.size("size", size, draw.spatial_dims)
    if draw.offsets is not None and size != draw.size:
        raise ProRandConvError.about(
            "size", size, f"{draw.size}, for which the draw is, or draw.resized({size})"
        )
    return size
