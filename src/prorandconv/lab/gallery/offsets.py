"""The paper's Fig. 7 (e) and (f): how far offsets reach, and how smooth they are."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from PIL import Image, ImageDraw
from torch import Tensor

from ... import ProRandConv
from ...draw import Draw
from ...fields import Field, field_of
from .picture import shown
from .sheet import Row, Sheet

SCALES = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)
EXPONENTS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)
SCALE, EXPONENT = 0.5, 10.0
"""What the paper takes for photos; one stays while the other varies."""
DRAWS = 2
ARROWS = 12
"""Arrows along a side."""
ARROW = "#0b5fa5"


def offsets(image: Tensor, seed: int) -> Sheet:
    """σ_Δ, then α: for each draw the field of the kernel's middle tap, and its picture."""
    # White noise has all random numbers of a field: any exponent can be given to it later.
    augment = ProRandConv(offsets=(1.0, 1.0), alpha=0.0)
    generator = torch.Generator().manual_seed(seed)
    draws = [augment.draw(image, generator) for _ in range(DRAWS)]
    parts = (
        ("e", 4, {f"σ_Δ = {scale:g}": (scale, EXPONENT) for scale in SCALES}),
        ("f", 12, {f"α = {power:g}": (SCALE, power) for power in EXPONENTS}),
    )
    rows = []
    for part, longer, columns in parts:
        for number, draw in enumerate(draws):
            made = [deformed(draw, *setting) for setting in columns.values()]
            name, captions = f"({part}) draw {number}", () if number else tuple(columns)
            rows.append(Row(f"{name}\n× {longer}", [arrows(one, longer) for one in made], captions))
            pictures = [shown(augment(image, draw=params)) for params in made]
            rows.append(Row(f"{name}\nL = {draw.repeats}", pictures))
    notes = [
        f"A draw has one set of normal numbers: columns differ in σ_Δ (α = {EXPONENT:g}) or in α "
        f"(σ_Δ = {SCALE:g}) alone. Arrows are the offsets of the kernel's middle tap, "
        "longer than in the picture by the factor beside them; each of the nine taps has a field "
        "of its own."
    ]
    return Sheet("Deformable offsets (Fig. 7 (e) and (f))", rows, notes)


def deformed(draw: Draw, scale: float, exponent: float) -> Draw:
    """A draw whose offsets have another deviation in pixels and another spectrum."""
    assert isinstance(draw.offsets, Field)
    noise, sigma = draw.offsets.coefficients, torch.tensor(scale)
    return replace(draw, offsets=field_of(noise, draw.offsets.size, exponent, sigma))


def arrows(params: Draw, longer: float) -> Image.Image:
    """The offsets of the kernel's middle tap as arrows, drawn longer than they are."""
    assert isinstance(params.offsets, Field)
    middle = params.weight.shape[-1] ** 2 // 2
    field = params.offsets[2 * middle : 2 * middle + 2].dense()
    height, width = field.shape[-2:]
    picture = Image.new("RGB", (width, height), "#f4f4f4")
    pen = ImageDraw.Draw(picture)
    step = width / ARROWS
    for row in range(round(height / step)):
        for column in range(ARROWS):
            y, x = (row + 0.5) * step, (column + 0.5) * step
            down, right = field[:, int(y), int(x)].tolist()
            _draw_arrow(pen, x, y, x + longer * right, y + longer * down)
    return picture


def _draw_arrow(pen: ImageDraw.ImageDraw, x: float, y: float, to_x: float, to_y: float) -> None:
    length, angle = math.hypot(to_x - x, to_y - y), math.atan2(to_y - y, to_x - x)
    if length < 1:
        pen.ellipse((x - 1, y - 1, x + 1, y + 1), ARROW)
        return
    pen.line((x, y, to_x, to_y), ARROW, 2)
    head = min(length, 6)
    sides = [
        (to_x - head * math.cos(angle + turn), to_y - head * math.sin(angle + turn))
        for turn in (0.5, -0.5)
    ]
    pen.polygon([(to_x, to_y), *sides], ARROW)
