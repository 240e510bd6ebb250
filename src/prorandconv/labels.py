"""Labels that move with the picture: masks, boxes and key points under a draw."""

from __future__ import annotations

import math
from itertools import accumulate
from operator import mul

import torch
from torch import Tensor

from .displacement import displacement as displacement_of
from .displacement import outside, pixels
from .errors import ProRandConvError
from .params import BlockParams

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""Integers that torch cannot index, and what to take their bits for."""


def move_labels(
    labels: Tensor,
    params: BlockParams,
    *,
    ignore_index: int = 255,
    displacement: Tensor | None = None,
) -> Tensor:
    """Move labels as a draw moves the pictures, by nearest neighbour.

    Args:
        labels: integers or booleans ``(..., H, W)``. Where the draw treats images differently (one
            draw per image, or p < 1), the leading dimensions begin with those of the images.
        params: the draw that the images are augmented with.
        ignore_index: label of what comes from outside of the image; for booleans it is False.
        displacement: the draw's displacement, if it is known already; see
            :func:`prorandconv.functional.displacement`.

    Returns:
        Labels of the same shape and dtype; those of images that are not augmented are unchanged.

    Example:
        >>> from prorandconv import ProRandConv, functional
        >>> augment, x = ProRandConv(shared_offsets=True), torch.rand(4, 3, 32, 32)
        >>> params = augment.draw(x)
        >>> images, mask = augment(x, params=params), torch.zeros(4, 32, 32, dtype=torch.uint8)
        >>> functional.move_labels(mask, params).shape
        torch.Size([4, 32, 32])
    """
    fill = _outside_label(labels, ignore_index)
    signed = _SIGNED.get(labels.dtype, labels.dtype)
    grouped = by_image(labels, params, labels.shape[:-2]).flatten(-2).view(signed)
    if displacement is None:
        displacement = displacement_of(params, _size(labels))
    _check_displacement(displacement, labels, params)
    if params.identity or labels.numel() == 0:
        return labels
    chosen = None if params.chosen is None else params.chosen.to(labels.device)
    field = displacement.to(labels.device)
    picked = grouped if chosen is None else grouped[chosen]
    if field.dim() == 4 and chosen is not None:
        field = field[chosen]
    index, away = _nearest(field.view(-1, *field.shape[-3:]))
    if len(index) == 1:
        moved = picked.index_select(-1, index[0])
    else:
        moved = picked.gather(-1, index.unsqueeze(1).expand_as(picked))
    moved.masked_fill_(away.unsqueeze(1), fill.view(signed))
    if chosen is not None:
        moved = grouped.clone().index_copy_(0, chosen, moved)
    return moved.view(labels.dtype).view(labels.shape)


def by_image(labels: Tensor, params: BlockParams, leading: tuple[int, ...]) -> Tensor:
    """Labels with one first dimension for the images that the draw treats differently, or of 1."""
    count = 1
    if isinstance(params.repeats, tuple):
        count = len(params.repeats)
    elif params.chosen is not None and params.batch is not None:
        count = params.batch
    if count not in accumulate(leading, mul, initial=1):
        raise ProRandConvError.about(
            "labels",
            tuple(labels.shape),
            f"leading dimensions that count the {count} images of this draw",
        )
    rest = labels.shape[len(leading) :]
    return labels.reshape(count, math.prod(leading) // (count or 1), *rest)


def _nearest(displacement: Tensor) -> tuple[Tensor, Tensor]:
    """The pixels (N, H * W) nearest to where displacements (N, 2, H, W) lead; which are outside."""
    size = _size(displacement)
    positions = displacement + pixels(size, displacement.dtype, displacement.device)
    away = outside(positions, size)
    y, x = positions.round_().long().unbind(1)
    index = y.clamp_(0, size[0] - 1).mul_(size[1]).add_(x.clamp_(0, size[1] - 1))
    return index.flatten(1), away.flatten(1)


def _outside_label(labels: Tensor, ignore_index: int) -> Tensor:
    """The label of what comes from outside, as the labels' dtype holds it."""
    if labels.is_floating_point() or labels.is_complex() or labels.dim() < 2:
        raise ProRandConvError.about(
            "labels",
            f"{labels.dtype} of shape {tuple(labels.shape)}",
            "integers or booleans (..., H, W); depth and the like are sampled at "
            "functional.displacement(params)",
        )
    if labels.dtype == torch.bool:
        return torch.tensor(False, device=labels.device)
    limits = torch.iinfo(labels.dtype)
    if not limits.min <= ignore_index <= limits.max:
        raise ProRandConvError.about(
            "ignore_index",
            ignore_index,
            f"from {limits.min} to {limits.max}, as the labels are {labels.dtype}, or labels of a "
            "larger dtype",
        )
    return torch.tensor(ignore_index, dtype=labels.dtype, device=labels.device)


def _check_displacement(displacement: Tensor, labels: Tensor, params: BlockParams) -> None:
    own = (len(params.repeats),) if isinstance(params.repeats, tuple) else ()
    if tuple(displacement.shape) != (*own, 2, *labels.shape[-2:]):
        raise ProRandConvError.about(
            "displacement",
            tuple(displacement.shape),
            f"{(*own, 2, *labels.shape[-2:])} for these labels and this draw",
        )


def _size(x: Tensor) -> tuple[int, int]:
    return x.shape[-2], x.shape[-1]
