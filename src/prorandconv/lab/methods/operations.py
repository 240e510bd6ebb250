"""Operations on pixels whose parameters have gradients, for AdvST."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.transforms.v2 import functional as tv

HOLES, HOLE = 8, 16
"""Squares that are cut out, and their side in pixels, whatever the images' size."""


@dataclass(frozen=True)
class Operation:
    """An operation on pixels, which are clamped to [0, 1] behind it."""

    function: Callable[..., Tensor]
    """(pixels ``(N, 3, H, W)``, parameters ``(N, k)``, what ``draw`` has drawn) -> pixels"""
    low: float = 0.0
    """smallest parameter at first"""
    high: float = 0.0
    """largest parameter at first"""
    parameters: int = 1
    """k"""
    draw: Callable[[int, int, torch.Generator], Tensor] | None = None
    """(number of images, side, generator) -> what else of it is random"""

    def apply(self, x: Tensor, parameter: Tensor, noise: Tensor | None) -> Tensor:
        """The operation on pixels from 0 to 1."""
        given = (x, parameter) if noise is None else (x, parameter, noise)
        new = self.function(*given)
        # What has no parameters gives levels; rounding must not cut off its gradient.
        return new.clamp(0, 1) if self.parameters else new


def _each(parameter: Tensor) -> Tensor:
    """One number of each image, or of each of its channels, beside the pixels."""
    return parameter[:, :, None, None]


def _hsv(x: Tensor, shift: Tensor) -> Tensor:
    """Shift hue (in radians), saturation and value."""
    most, least = x.amax(1), x.amin(1)
    delta = most - least
    r, g, b = x.unbind(1)
    safe = torch.where(delta == 0, 1, delta)
    sextant = torch.where(
        (r >= g) & (r >= b),
        (g - b) / safe,
        torch.where(g >= b, (b - r) / safe + 2, (r - g) / safe + 4),
    )
    hue, saturation, value = (one[:, None, None] for one in shift.unbind(1))
    hue = sextant + hue * 3 / math.pi
    saturation, value = delta / (most + 1e-8) + saturation, most + value
    channels = []
    for offset in (5, 3, 1):
        part = (hue + offset) % 6
        share = torch.minimum(part, 4 - part).clamp(0, 1)
        channels.append(value * (1 - saturation * share))
    return torch.stack(channels, 1)


def _warped(x: Tensor, rows: Sequence[Sequence[Tensor | float]], centred: bool = True) -> Tensor:
    """Images of which each point (x, y) comes from (a x + b y + c, d x + e y + f); 0 outside.

    Args:
        x: ``(N, C, H, W)``.
        rows: of the maps in pixels, three numbers ``(N,)`` each.
        centred: whether points are counted from the centre, or from the first pixel.
    """
    height, width = x.shape[2:]
    kept = [[torch.as_tensor(v, dtype=x.dtype, device=x.device) for v in row] for row in rows]
    maps = torch.stack([torch.stack([v.expand(len(x)) for v in row], -1) for row in kept], 1)
    middle = torch.tensor([width - 1, height - 1], dtype=x.dtype, device=x.device) / 2
    origin = middle if centred else torch.zeros_like(middle)
    down, right = torch.meshgrid(
        torch.arange(height, dtype=x.dtype, device=x.device) - origin[1],
        torch.arange(width, dtype=x.dtype, device=x.device) - origin[0],
        indexing="ij",
    )
    points = torch.stack([right, down, torch.ones_like(right)], -1)
    places = torch.einsum("hwk,nik->nhwi", points, maps) + origin
    return F.grid_sample(x, places / middle - 1, align_corners=True)


def _rotated(x: Tensor, turn: Tensor) -> Tensor:
    """Turn against the clock by a share of the circle."""
    angle = 2 * math.pi * turn[:, 0].clamp(0.01, 1)
    cos, sin = angle.cos(), angle.sin()
    return _warped(x, [(cos, -sin, 0.0), (sin, cos, 0.0)])


def _translated(x: Tensor, shift: Tensor) -> Tensor:
    """Move to the right and down, by shares of a tenth of the width."""
    right, down = (-shift.clamp(-1, 1) * x.shape[3] * 0.1).unbind(1)
    return _warped(x, [(1.0, 0.0, right), (0.0, 1.0, down)])


def _sheared(x: Tensor, factors: Tensor) -> Tensor:
    """Move each point (x, y), counted from the first pixel, to (x + a y, y + b x)."""
    a, b = factors.unbind(1)
    scale = 1 / (1 - a * b)
    rows = [(scale, -a * scale, 0.0), (-b * scale, scale, 0.0)]
    return _warped(x, rows, centred=False)


def _scaled(x: Tensor, factor: Tensor) -> Tensor:
    """Enlarge or shrink about the centre."""
    by = 1 / factor[:, 0].clamp(0.5, 2)
    return _warped(x, [(by, 0.0, 0.0), (0.0, by, 0.0)])


def _sharpened(x: Tensor, factor: Tensor) -> Tensor:
    """Between smoothed (0) and original (1); the border stays."""
    kernel = torch.ones(3, 1, 3, 3, dtype=x.dtype, device=x.device)
    kernel[:, :, 1, 1] = 5
    smooth = F.conv2d(x, kernel / 13, groups=3)
    difference = F.pad(x[..., 1:-1, 1:-1] - smooth, (1, 1, 1, 1))
    return x - (1 - _each(factor.clamp(0, 1))) * difference


def _solarised(x: Tensor, shift: Tensor) -> Tensor:
    """Make brighter or darker, and invert from the middle up."""
    moved = (x + _each(shift.clamp(-0.499, 0.499))).clamp(0, 1)
    return torch.where(moved >= 0.5, 1 - moved, moved)


def _straight_through(x: Tensor, new: Tensor) -> Tensor:
    """New values with the gradient of the old ones."""
    return new + x - x.detach()


def _levels(x: Tensor) -> Tensor:
    return (x.detach() * 255).round().clamp(0, 255).to(torch.uint8)


def _equalised(x: Tensor, _: Tensor) -> Tensor:
    """Spread the levels of each channel evenly."""
    return _straight_through(x, tv.equalize(_levels(x)).to(x.dtype) / 255)


def _posterised(x: Tensor, _: Tensor, bits: Tensor) -> Tensor:
    """Keep so many of the highest of 8 bits."""
    step = 2 ** (8 - bits).view(-1, 1, 1, 1)
    return _straight_through(x, (_levels(x).long() // step * step).to(x.dtype) / 255)


def _cut_out(x: Tensor, colour: Tensor, corners: Tensor) -> Tensor:
    """Squares of one colour an image, whose upper left corners (row, column) all images share."""
    inside = torch.zeros(x.shape[2:], dtype=torch.bool, device=x.device)
    for row, column in corners.tolist():
        inside[row : row + HOLE, column : column + HOLE] = True
    return torch.where(inside, _each(colour), x)


def _draw_bits(count: int, side: int, generator: torch.Generator) -> Tensor:
    return torch.randint(0, 9, (count,), generator=generator)


def _draw_corners(count: int, side: int, generator: torch.Generator) -> Tensor:
    return torch.randint(0, max(side - HOLE, 1), (HOLES, 2), generator=generator)


OPERATIONS: Mapping[str, Operation] = {
    "hsv": Operation(_hsv, -1, 1, 3),
    "rotate": Operation(_rotated, 0.01, 1),
    "translate": Operation(_translated, -1, 1, 2),
    "invert": Operation(lambda x, most: _each(most.clamp(0.5, 1)) - x, 0.5, 1),
    "shear": Operation(_sheared, -0.3, 0.3, 2),
    "contrast": Operation(lambda x, factor: x * _each(factor.clamp(0.1, 1.9)), 0.1, 1.9),
    "sharpness": Operation(_sharpened, 0, 1),
    "solarise": Operation(_solarised, -0.5, 0.5),
    "scale": Operation(_scaled, 0.5, 2),
    "equalise": Operation(_equalised, parameters=0),
    "posterise": Operation(_posterised, parameters=0, draw=_draw_bits),
    "cutout": Operation(_cut_out, 0, 1, 3, _draw_corners),
}
"""Those of the paper, with the ranges of the authors' code."""
