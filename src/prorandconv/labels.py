"""Labels that warp with the image: masks, points and boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from operator import mul, or_
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms.v2.functional import (
    clamp_bounding_boxes,
    convert_bounding_box_format,
    is_pure_tensor,
)

from . import checks
from .caching import without_autocast
from .displacement import composed, pixels
from .displacement import displacement as displacement_of
from .draw import Draw
from .errors import ProRandConvError
from .ops.formulas import INVALID
from .options import Size

POINTS = (tv_tensors.KeyPoints,) if hasattr(tv_tensors, "KeyPoints") else ()
"""Key points, which torchvision has from version 0.23 on."""
LABELS = (tv_tensors.Mask, tv_tensors.BoundingBoxes, *POINTS)
"""What warps with the images."""
_UPRIGHT = ("XYXY", "XYWH", "CXCYWH")
_ON_AN_EDGE = 33
"""Points of a box's edge that are warped: smooth offsets have waves no shorter than a few of their
distances, whatever the size of the box."""
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""Integers that torch cannot index, and what to take their bits for."""
_ITERATIONS = 30
"""Of the inverse: slopes up to 0.5 leave less than a millionth of a pixel."""


def warp_labels(
    labels: Tensor,
    draw: Draw,
    *,
    ignore_index: int = 255,
    displacement: Tensor | None = None,
) -> Tensor:
    """Warp labels as a draw warps the images, by nearest neighbour.

    Args:
        labels: integers or booleans ``(..., H, W)``, of volumes ``(..., D, H, W)``. Where the draw
            treats images differently (one draw per image, or p < 1), the leading dimensions begin
            with those of the images.
        draw: the draw that the images are augmented with.
        ignore_index: label of what comes from outside of the image; for booleans it is False.
        displacement: the draw's displacement, if it is known already; see
            :func:`prorandconv.functional.displacement`.

    Returns:
        Labels of the same shape and dtype; those of images that are not augmented are unchanged.

    Example:
        >>> from prorandconv import ProRandConv, functional
        >>> augment, x = ProRandConv(shared_offsets=True), torch.rand(4, 3, 32, 32)
        >>> draw = augment.draw(x)
        >>> images, mask = augment(x, draw=draw), torch.zeros(4, 32, 32, dtype=torch.uint8)
        >>> functional.warp_labels(mask, draw).shape
        torch.Size([4, 32, 32])
    """
    dims = draw.spatial_dims
    fill = _outside_label(labels, ignore_index, dims)
    leading, size = labels.shape[:-dims], tuple(labels.shape[-dims:])
    _check_count(labels, leading, draw)
    if labels.numel() == 0:
        return labels
    if displacement is None:
        displacement = displacement_of(draw, size)
    _check_displacement(displacement, labels, draw)
    signed = _SIGNED.get(labels.dtype, labels.dtype)

    def warp(some: Tensor, displacement: Tensor) -> Tensor:
        index, away = _nearest(displacement)
        # index_select takes ten times as long as gather.
        warped = some.flatten(2).gather(-1, index.expand(*some.shape[:2], -1))
        return warped.masked_fill_(away, fill.view(signed)).view(some.shape)

    return _warped(labels.view(signed), leading, draw, displacement, warp).view(labels.dtype)


def warp_points(points: Tensor, draw: Draw, displacement: Tensor) -> Tensor:
    """Warp points ``(..., 2)``, x and y from the first pixel's centre, as a draw warps images.

    A displacement says where a pixel comes from, so a point goes where the inverse sends it: the
    p with p + displacement(p) = point, by fixed-point iteration. Each iteration leaves a fraction
    of the error, the displacement's steepest slope.

    Args:
        points: floating point, or integers, which are rounded.
        draw: the draw.
        displacement: of the draw, ``"extended"`` beyond the border.
    """
    leading = points.shape[:-1]
    _check_count(points, leading, draw)

    def warp(some: Tensor, displacement: Tensor) -> Tensor:
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

    return _warped(points, leading, draw, displacement, warp)


def _warped(
    labels: Tensor,
    leading: tuple[int, ...],
    draw: Draw,
    displacement: Tensor,
    warp: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Labels of augmented images after ``warp((n, m, ...), (n or 1, 2, H, W))``, amid others."""
    changed = draw.changed
    if changed == [] or labels.numel() == 0:
        return labels.clone()
    field = displacement.to(labels.device).view(-1, *displacement.shape[-draw.spatial_dims - 1 :])
    grouped = labels.reshape(draw.num_draws, -1, *labels.shape[len(leading) :])
    if changed is None:
        return warp(grouped, field).view(labels.shape)
    index = torch.tensor(changed, device=labels.device)
    warped = warp(grouped[index], field[index] if draw.per_image else field)
    return grouped.index_copy(0, index, warped).view(labels.shape)


def _check_count(labels: Tensor, leading: tuple[int, ...], draw: Draw) -> None:
    if draw.num_draws not in accumulate(leading, mul, initial=1):
        raise ProRandConvError.about(
            "labels",
            tuple(labels.shape),
            f"leading dimensions that count the {draw.num_draws} images of this draw",
        )


def _nearest(displacement: Tensor) -> tuple[Tensor, Tensor]:
    """The pixels (N, 1, H * W) nearest to where displacements lead, and whether outside."""
    size = tuple(displacement.shape[2:])
    positions = displacement + pixels(size, displacement.dtype, displacement.device)
    positions.nan_to_num_(INVALID, INVALID, INVALID)
    nearest = positions.round_().long().unbind(1)
    inside = [axis.clamp(0, side - 1) for axis, side in zip(nearest, size, strict=True)]
    beyond = (there != axis for there, axis in zip(inside, nearest, strict=True))
    away, (index, *others) = reduce(or_, beyond), inside
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
            "functional.displacement(draw)",
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


def _check_displacement(displacement: Tensor, labels: Tensor, draw: Draw) -> None:
    own = (len(draw.repeats),) if isinstance(draw.repeats, tuple) else ()
    expected = (*own, draw.spatial_dims, *labels.shape[-draw.spatial_dims :])
    if tuple(displacement.shape) != expected:
        raise ProRandConvError.about(
            "displacement", tuple(displacement.shape), f"{expected} for these labels and this draw"
        )


def check_marked(leaves: Sequence[Any], dims: int) -> None:
    """Raise an error for maps of labels that would stay, as nothing marks them as masks.

    They are plain tensors and arrays of the images' height and width.
    """
    found = checks.find_images(leaves, dims)
    sizes = {tuple(leaves[n].shape[-dims:]) for n in found}
    for n, leaf in enumerate(leaves):
        is_plain = isinstance(leaf, np.ndarray) or is_pure_tensor(leaf)
        if n not in found and is_plain and tuple(leaf.shape[-dims:]) in sizes:
            raise ProRandConvError.about(
                "x",
                f"a plain {type(leaf).__name__} of the images' size, {tuple(leaf.shape)}",
                "labels that shall warp as tv_tensors.Mask, or labels='fixed'",
            )


@dataclass
class LabelWarp:
    """How the labels of one call warp: all of them by the same displacement."""

    draw: Draw
    size: Size | None
    """height and width of the images; None if there are only labels"""
    ignore_index: int

    def __call__(self, label: Any) -> Any:
        """A mask, boxes or key points, where the draw takes them."""
        is_mask, dims = isinstance(label, tv_tensors.Mask), self.draw.spatial_dims
        if dims == 3 and not is_mask:
            raise ProRandConvError.about(
                type(label).__name__, "labels='warp' of volumes", "masks, or labels='fixed'"
            )
        size = tuple(label.shape[-dims:] if is_mask else label.canvas_size)
        expected = self.size or self.draw.size
        if expected != size:
            name = type(label).__name__
            raise ProRandConvError.about(name, f"a size of {size}", f"the images' {expected}")
        if label.numel() == 0:
            return label
        with without_autocast(label.device):
            if isinstance(label, tv_tensors.BoundingBoxes):
                return self._boxes(label)
            plain, draw = label.as_subclass(Tensor), self.draw
            if is_mask:
                index, field = self.ignore_index, self._of_pixels
                warped = warp_labels(plain, draw, ignore_index=index, displacement=field)
            else:
                warped = warp_points(plain, draw, self._of_points)
        return tv_tensors.wrap(warped, like=label)

    @cached_property
    def _of_pixels(self) -> Tensor:
        return displacement_of(self.draw, self.size)

    @cached_property
    def _of_points(self) -> Tensor:
        return composed(self.draw, self.size, "extended")

    def _boxes(self, boxes: tv_tensors.BoundingBoxes) -> tv_tensors.BoundingBoxes:
        """The tightest boxes of the same angles around the warped edges, clamped to the image."""
        if self.draw.num_draws > 1:
            raise ProRandConvError.about(
                "BoundingBoxes",
                f"those of {self.draw.num_draws} images that warp differently",
                "one image and its boxes at a time, or mode='batch' and p=1.0",
            )
        if self.draw.changed == []:
            return boxes.clone()
        given, integers = boxes.as_subclass(Tensor), not boxes.is_floating_point()
        precise = given.to(torch.promote_types(given.dtype, torch.float32))
        upright = boxes.format.value in _UPRIGHT
        centred = convert_bounding_box_format(
            tv_tensors.wrap(precise, like=boxes), new_format="CXCYWH" if upright else "CXCYWHR"
        )
        warped = tv_tensors.wrap(self._around_edges(centred.as_subclass(Tensor)), like=centred)
        warped = convert_bounding_box_format(warped, new_format=boxes.format)
        warped = clamp_bounding_boxes(warped).as_subclass(Tensor)
        return tv_tensors.wrap((warped.round() if integers else warped).to(given.dtype), like=boxes)

    def _around_edges(self, boxes: Tensor) -> Tensor:
        """Boxes (n, 4 or 5) as centre, width, height and angle in degrees, warped."""
        centre, sides, angle = boxes[:, None, :2], boxes[:, None, 2:4], boxes[:, 4:].deg2rad()
        if not angle.numel():
            angle = torch.zeros_like(boxes[:, :1])
        along = torch.stack((angle.cos(), -angle.sin()), -1)
        across = torch.stack((angle.sin(), angle.cos()), -1)
        axes = torch.cat((along, across), 1)  # of each box, its own x and y in the image's
        fraction = torch.linspace(-0.5, 0.5, _ON_AN_EDGE, dtype=boxes.dtype, device=boxes.device)
        edge = torch.stack((fraction, torch.full_like(fraction, 0.5)), -1)
        edges = torch.cat((edge, -edge, edge.flip(-1), -edge.flip(-1)))
        # Boxes count from the corner of the first pixel, points from its centre.
        points = centre + (edges * sides) @ axes - 0.5
        warped = warp_points(points, self.draw, self._of_points) + 0.5
        low, high = ((warped - centre) @ axes.mT).aminmax(dim=1, keepdim=True)
        centre = centre + (low + high) / 2 @ axes
        return torch.cat((centre.squeeze(1), (high - low).squeeze(1), boxes[:, 4:]), -1)
