"""Eager implementation for volumes: tap by tap and slab by slab, as memory is scarce.

Offsets are short, so the samples of a tap lie between few integer shifts of the volume along each
axis. They are sums of shifted views with interpolation weights, one axis after the other: memory is
read in its own order, and nothing is gathered. Where offsets reach too far for that, or reading how
far would wait for a device, ``grid_sample`` serves. A field is made for one tap and slab at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..caching import readable
from ..fields import Field
from ..options import Size
from .formulas import active_taps, pad_same, position_dtype, wrap
from .taps import contrasted_in_place

if TYPE_CHECKING:
    from ..draw import Draw

_SLAB = 1 << 15
"""Voxels of a slab, but a row at least: its temporaries stay in cache, and each has its price."""
_FAR = 3
"""Voxels from which on ``grid_sample`` is faster than all the shifts between them."""
_Part = tuple[slice, slice, slice]
"""Planes, rows and columns of a slab."""


def apply(images: Tensor, draw: Draw) -> Tensor:
    """Convolve, standardise, scale and squash as often as the draw says."""
    if isinstance(draw.repeats, tuple):
        singles = [apply(image[None], draw[n]) for n, image in enumerate(images)]
        return torch.cat(singles) if singles else images
    taps, reach = active_taps(draw.weight), _reach(draw)
    for _ in range(draw.repeats):
        images = contrasted_in_place(_convolved(images, draw, taps, reach), draw)
    return images


def _reach(draw: Draw) -> int | None:
    """Voxels that no offset leaves; None if that is far, or not known here."""
    offsets = draw.offsets
    if offsets is None:
        return 0
    if isinstance(offsets, Field):
        bound = offsets.bound()
    else:
        bound = float(offsets.abs().max()) if readable(offsets) else None
    return None if bound is None or not bound <= _FAR else math.ceil(bound)


def _convolved(images: Tensor, draw: Draw, taps: tuple[int, ...], reach: int | None) -> Tensor:
    """All taps sampled, then mixed: slab by slab."""
    padding, side = draw.options.padding, draw.kernel_size
    if draw.offsets is None:
        return F.conv3d(pad_same(images, side, padding), draw.weight)
    size, count, channels = tuple(images.shape[2:]), *images.shape[:2]
    if reach is None:
        source = images.to(position_dtype(images.device))
    else:
        source = pad_same(images, side + 2 * reach, padding)
    result = images.new_empty(count, len(draw.weight), *size)
    weight = draw.weight.flatten(2)[:, :, list(taps)].transpose(1, 2).flatten(1)
    scratch = _Scratch(images)
    for part in _slabs(size):
        slab = tuple(axis.stop - axis.start for axis in part)
        sampled = scratch.take("sampled", (count, len(taps), channels, *slab))
        for number, tap in enumerate(taps):
            place = [tap // side**axis % side for axis in (2, 1, 0)]
            offsets = _offsets(draw.offsets[3 * tap : 3 * tap + 3], part)
            if reach is None:
                sampled[:, number] = _by_grid(source, draw, place, offsets, part)
            else:
                corner = [
                    axis.start + first + reach for axis, first in zip(part, place, strict=True)
                ]
                _sum_shifts(source, corner, offsets, reach, scratch, sampled[:, number])
        for one, of_taps in zip(result, sampled, strict=True):
            mixed = weight @ of_taps.reshape(weight.shape[1], -1)
            planes, rows, columns = part
            one[:, planes, rows, columns] = mixed.view(-1, *slab)
    return result


def _slabs(size: Size) -> Iterator[_Part]:
    """Parts of a volume along its axes: several whole planes, or some rows of one."""
    depth, height, width = size
    planes = max(_SLAB // (height * width), 1)
    rows = min(max(_SLAB // width, 1), height)
    for first, top in product(range(0, depth, planes), range(0, height, rows)):
        yield (
            slice(first, min(first + planes, depth)),
            slice(top, min(top + rows, height)),
            slice(0, width),
        )


def _offsets(fields: Tensor | Field, part: _Part) -> Tensor:
    """The offsets (3, ...) of a tap in a slab."""
    planes, rows, columns = part
    if not isinstance(fields, Field):
        return fields[:, planes, rows, columns]
    return fields.rows(planes, rows)


def _sum_shifts(
    source: Tensor,
    corner: Sequence[int],
    offsets: Tensor,
    reach: int,
    scratch: _Scratch,
    result: Tensor,
) -> None:
    """A tap's samples in a slab, from all shifts between its lowest and highest offset.

    Args:
        source: the padded volumes.
        corner: where in them the slab begins for a tap without offset.
        offsets: of the tap in the slab.
        reach: voxels that no offset leaves.
        scratch: memory for intermediate results.
        result: where the samples (N, C, ...) go.
    """
    lowest, highest = -reach, reach
    if readable(offsets):
        low, high = offsets.aminmax()
        lowest, highest = math.floor(low), math.ceil(high)
    shifts = torch.arange(lowest, highest + 1, dtype=offsets.dtype, device=offsets.device)
    weights = scratch.take("weights", (len(shifts), *offsets.shape))
    torch.sub(offsets, shifts.view(-1, 1, 1, 1, 1), out=weights).abs_().neg_().add_(1).clamp_(min=0)

    views = source
    for axis, (start, length) in enumerate(zip(corner, offsets.shape[1:], strict=True), start=2):
        views = views.narrow(axis, start + lowest, length + highest - lowest)
        views = views.unfold(axis, length, 1)
    # Of views (N, C, shifts, shifts, shifts, ...) the last shifts are summed first.
    for axis in (2, 1, 0):
        first, *others = views.unbind(axis + 2)
        views = scratch.take(f"sum over {axis}", first.shape) if axis else result
        torch.mul(first, weights[0, axis], out=views)
        for shift, view in enumerate(others, start=1):
            views.addcmul_(view, weights[shift, axis])


class _Scratch:
    """Memory that is used again: fresh memory costs more than the sums that it is for."""

    def __init__(self, like: Tensor) -> None:
        self._like = like
        self._kept: dict[str, Tensor] = {}

    def take(self, name: str, shape: Size) -> Tensor:
        """A tensor of any numbers, in the place of the last one of this name if that suffices."""
        numbers = math.prod(shape)
        if name not in self._kept or self._kept[name].numel() < numbers:
            self._kept[name] = self._like.new_empty(numbers)
        return self._kept[name][:numbers].view(shape)


def _by_grid(
    source: Tensor, draw: Draw, place: Sequence[int], offsets: Tensor, part: _Part
) -> Tensor:
    """A tap's samples (N, C, ...) in a slab, from anywhere."""
    coordinates = []
    for axis, side in enumerate(source.shape[2:]):
        here = torch.arange(part[axis].start, part[axis].stop, device=offsets.device)
        here = here.view(-1, *(1,) * (2 - axis)) + place[axis] - draw.kernel_size // 2
        position = wrap(offsets[axis].to(source.dtype) + here, side, draw.options.padding)
        coordinates.append((2 * position + 1) / side - 1)
    grid = torch.stack(coordinates[::-1], -1).expand(len(source), -1, -1, -1, -1)
    return F.grid_sample(source, grid, align_corners=False)
