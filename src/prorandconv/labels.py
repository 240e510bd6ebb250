"""Labels that move with the picture: whole maps of them, and points."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from operator import mul, or_

import torch
import torch.nn.functional as F
from torch import Tensor

from .displacement import displacement as displacement_of
from .displacement import pixels
from .errors import ProRandConvError
from .params import BlockParams

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""Integers that torch cannot index, and what to take their bits for."""
_NOWHERE = -2.0
"""A position outside of the image for what has none."""
_ITERATIONS = 30
"""Of the inverse: slopes up to 0.5 leave less than a millionth of a pixel."""


def move_labels(
    labels: Tensor,
    params: BlockParams,
    *,
    ignore_index: int = 255,
    displacement: Tensor | None = None,
) -> Tensor:
    """Move labels as a draw moves the pictures, by nearest neighbour.

    Args:
        labels: integers or booleans ``(..., H, W)``, of volumes ``(..., D, H, W)``. Where the draw
            treats images differently (one draw per image, or p < 1), the leading dimensions begin
            with those of the images.
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
    dims = params.spatial_dims
    fill = _outside_label(labels, ignore_index, dims)
    leading, size = labels.shape[:-dims], tuple(labels.shape[-dims:])
    _check_count(labels, leading, params)
    if labels.numel() == 0:
        return labels
    if displacement is None:
        displacement = displacement_of(params, size)
    _check_displacement(displacement, labels, params)
    signed = _SIGNED.get(labels.dtype, labels.dtype)

    def move(some: Tensor, displacement: Tensor) -> Tensor:
        index, away = _nearest(displacement)
        # index_select takes ten times as long as gather.
        moved = some.flatten(2).gather(-1, index.expand(*some.shape[:2], -1))
        return moved.masked_fill_(away, fill.view(signed)).view(some.shape)

    return _moved(labels.view(signed), leading, params, displacement, move).view(labels.dtype)


def move_points(points: Tensor, params: BlockParams, displacement: Tensor) -> Tensor:
    """Move points ``(..., 2)``, x and y from the first pixel's centre, as a draw moves pictures.

    A displacement says where a pixel comes from, so a point goes where the inverse sends it: the
    p with p + displacement(p) = point, by fixed-point iteration. Each iteration leaves a share of
    the error that is the displacement's steepest slope.

    Args:
        points: floating point or whole numbers, which are rounded.
        params: the draw.
        displacement: of the draw, ``"extended"`` beyond the border.
    """
    leading = points.shape[:-1]
    _check_count(points, leading, params)

    def move(some: Tensor, displacement: Tensor) -> Tensor:
        count = len(displacement)  # one for all, or one for each image
        height, width = displacement.shape[-2:]
        sides = displacement.new_tensor((width, height))
        target = found = some.to(displacement).reshape(count, 1, -1, 2)
        for _ in range(_ITERATIONS):
            sampled = F.grid_sample(
                displacement,
                (2 * found + 1) / sides - 1,
                padding_mode="border",
                align_corners=False,
            )
            found = target - sampled.permute(0, 2, 3, 1).flip(-1)
        found = found.view(some.shape)
        return (found if points.is_floating_point() else found.round()).to(points.dtype)

    return _moved(points, leading, params, displacement, move)


def _moved(
    labels: Tensor,
    leading: tuple[int, ...],
    params: BlockParams,
    displacement: Tensor,
    move: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Labels of augmented images after ``move((n, m, ...), (n or 1, 2, H, W))``, amid others."""
    if params.identity or labels.numel() == 0:
        return labels
    field = displacement.to(labels.device).view(-1, *displacement.shape[-params.spatial_dims - 1 :])
    grouped = labels.reshape(images_told_apart(params), -1, *labels.shape[len(leading) :])
    if params.chosen is None:
        return move(grouped, field).view(labels.shape)
    chosen = params.chosen.to(labels.device)
    moved = move(grouped[chosen], field[chosen] if params.per_image else field)
    return grouped.index_copy(0, chosen, moved).view(labels.shape)


def images_told_apart(params: BlockParams) -> int:
    """How many images the draw treats differently; 1 if it treats all alike."""
    if isinstance(params.repeats, tuple):
        return len(params.repeats)
    return 1 if params.chosen is None or params.batch is None else params.batch


def _check_count(labels: Tensor, leading: tuple[int, ...], params: BlockParams) -> None:
    if images_told_apart(params) not in accumulate(leading, mul, initial=1):
        raise ProRandConvError.about(
            "labels",
            tuple(labels.shape),
            f"leading dimensions that count the {images_told_apart(params)} images of this draw",
        )


def _nearest(displacement: Tensor) -> tuple[Tensor, Tensor]:
    """The pixels (N, 1, H * W) nearest to where displacements lead, and whether outside."""
    size = tuple(displacement.shape[2:])
    positions = displacement + pixels(size, displacement.dtype, displacement.device)
    positions.nan_to_num_(_NOWHERE, _NOWHERE, _NOWHERE)
    nearest = positions.round_().long().unbind(1)
    inside = [axis.clamp(0, side - 1) for axis, side in zip(nearest, size, strict=True)]
    moved = (there != axis for there, axis in zip(inside, nearest, strict=True))
    away, (index, *others) = reduce(or_, moved), inside
    for there, side in zip(others, size[1:], strict=True):
        index = index.mul_(side).add_(there)
    return index.flatten(1).unsqueeze(1), away.flatten(1).unsqueeze(1)


def _outside_label(labels: Tensor, ignore_index: int, dims: int) -> Tensor:
    """The label of what comes from outside, as the labels' dtype holds it."""
    if labels.is_floating_point() or labels.is_complex() or labels.dim() < dims:
        sides = "D, H, W" if dims == 3 else "H, W"
        raise ProRandConvError.about(
            "labels",
            f"{labels.dtype} of shape {tuple(labels.shape)}",
            f"integers or booleans (..., {sides}); depth and the like are sampled at "
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
    expected = (*own, params.spatial_dims, *labels.shape[-params.spatial_dims :])
    if tuple(displacement.shape) != expected:
        raise ProRandConvError.about(
            "displacement", tuple(displacement.shape), f"{expected} for these labels and this draw"
        )
