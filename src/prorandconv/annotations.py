"""What a sample holds beside its images, as torchvision marks it, moved with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms.v2.functional import (
    clamp_bounding_boxes,
    convert_bounding_box_format,
    is_pure_tensor,
)

from .displacement import composed, displacement
from .errors import ProRandConvError
from .labels import images_told_apart, move_labels, move_points
from .options import Padding, Size
from .params import BlockParams

POINTS = (tv_tensors.KeyPoints,) if hasattr(tv_tensors, "KeyPoints") else ()
"""Key points, which torchvision has from version 0.23 on."""
LABELS = (tv_tensors.Mask, tv_tensors.BoundingBoxes, *POINTS)
"""What moves with the images."""
_IMAGES = (tv_tensors.Image, tv_tensors.Video)
_UPRIGHT = ("XYXY", "XYWH", "CXCYWH")
_ON_AN_EDGE = 33
"""Points of a box's edge that are moved: smooth offsets have waves no shorter than a few of their
distances, whatever the size of the box."""


def check_marked(leaves: Sequence[Any], dims: int) -> None:
    """Refuse maps of labels that would stay where they are because nothing says what they are."""
    sizes = {leaf.shape[-dims:] for leaf in leaves if isinstance(leaf, _IMAGES)}
    sizes |= {x.shape[-dims:] for x in leaves if is_pure_tensor(x) and x.is_floating_point()}
    for leaf in leaves:
        if is_pure_tensor(leaf) and not leaf.is_floating_point() and leaf.shape[-dims:] in sizes:
            raise ProRandConvError.about(
                "x",
                f"a plain tensor of integers of the images' size, {tuple(leaf.shape)}",
                "labels that shall move as tv_tensors.Mask, or labels='fixed'",
            )


@dataclass
class Motion:
    """How the labels of one call move: all of them by the same displacement."""

    params: BlockParams
    size: Size | None
    """height and width of the images; None if only labels are moved"""
    padding: Padding
    ignore_index: int

    def move(self, label: Any) -> Any:
        """A mask, boxes or key points, where the draw takes them."""
        is_mask, dims = isinstance(label, tv_tensors.Mask), self.params.spatial_dims
        if dims == 3 and not is_mask:
            raise ProRandConvError.about(
                type(label).__name__, "labels='move' of volumes", "masks, or labels='fixed'"
            )
        size = tuple(label.shape[-dims:] if is_mask else label.canvas_size)
        expected = self.size or self.params.size
        if expected not in (None, size):
            name = type(label).__name__
            raise ProRandConvError.about(name, f"a size of {size}", f"the images' {expected}")
        if label.numel() == 0:
            return label
        if isinstance(label, tv_tensors.BoundingBoxes):
            return self._moved_boxes(label)
        plain, params = label.as_subclass(Tensor), self.params
        if is_mask:
            index, field = self.ignore_index, self._of_pixels
            moved = move_labels(plain, params, ignore_index=index, displacement=field)
        else:
            moved = move_points(plain, params, self._of_points)
        return tv_tensors.wrap(moved, like=label)

    @cached_property
    def _of_pixels(self) -> Tensor:
        return displacement(self.params, self.size, padding=self.padding)

    @cached_property
    def _of_points(self) -> Tensor:
        return composed(self.params, self.size, "extended")

    def _moved_boxes(self, boxes: tv_tensors.BoundingBoxes) -> tv_tensors.BoundingBoxes:
        """The tightest boxes of the same angles around the moved edges, clamped to the image."""
        if images_told_apart(self.params) > 1:
            raise ProRandConvError.about(
                "BoundingBoxes",
                f"those of {images_told_apart(self.params)} images that move differently",
                "one image and its boxes at a time, or mode='batch' and p=1.0",
            )
        if self.params.identity:
            return boxes
        given, whole = boxes.as_subclass(Tensor), not boxes.is_floating_point()
        precise = given.to(torch.promote_types(given.dtype, torch.float32))
        upright = boxes.format.value in _UPRIGHT
        centred = convert_bounding_box_format(
            tv_tensors.wrap(precise, like=boxes), new_format="CXCYWH" if upright else "CXCYWHR"
        )
        moved = tv_tensors.wrap(self._around_edges(centred.as_subclass(Tensor)), like=centred)
        moved = convert_bounding_box_format(moved, new_format=boxes.format)
        moved = clamp_bounding_boxes(moved).as_subclass(Tensor)
        return tv_tensors.wrap((moved.round() if whole else moved).to(given.dtype), like=boxes)

    def _around_edges(self, boxes: Tensor) -> Tensor:
        """Boxes (n, 4 or 5) as centre, width, height and angle in degrees, moved."""
        centre, sides, angle = boxes[:, None, :2], boxes[:, None, 2:4], boxes[:, 4:].deg2rad()
        if not angle.numel():
            angle = torch.zeros_like(boxes[:, :1])
        along = torch.stack((angle.cos(), -angle.sin()), -1)
        across = torch.stack((angle.sin(), angle.cos()), -1)
        axes = torch.cat((along, across), 1)  # of each box, its own x and y in the image's
        way = torch.linspace(-0.5, 0.5, _ON_AN_EDGE, dtype=boxes.dtype, device=boxes.device)
        edge = torch.stack((way, torch.full_like(way, 0.5)), -1)
        edges = torch.cat((edge, -edge, edge.flip(-1), -edge.flip(-1)))
        # Boxes count from the corner of the first pixel, points from its centre.
        points = centre + (edges * sides) @ axes - 0.5
        moved = move_points(points, self.params, self._of_points) + 0.5
        low, high = ((moved - centre) @ axes.mT).aminmax(dim=1, keepdim=True)
        centre = centre + (low + high) / 2 @ axes
        return torch.cat((centre.squeeze(1), (high - low).squeeze(1), boxes[:, 4:]), -1)
