"""Figures of the offsets: Fig. 7 (e) and (f), and labels that stay or move with the picture."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from ... import ProRandConv
from ...draw import Draw
from ...fields import Field, field_of
from ...functional import warp_labels
from ..sheets import Row, Sheet, shown

SCALES = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)
EXPONENTS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)
SCALE, EXPONENT = 0.5, 10.0
"""What the paper takes for photos; one stays while the other varies."""
OFFSETS_DRAWS = 2
ARROWS = 12
"""Arrows along a side."""
ARROW = "#0b5fa5"


def offsets(image: Tensor, seed: int) -> Sheet:
    """σ_Δ, then α: for each draw the field of the kernel's middle tap, and its picture."""
    # White noise has all random numbers of a field: any exponent can be given to it later.
    augment = ProRandConv(offsets=(1.0, 1.0), alpha=0.0)
    generator = torch.Generator().manual_seed(seed)
    draws = [augment.draw(image, generator) for _ in range(OFFSETS_DRAWS)]
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


REPEATED = 10
"""As many as there are: displacements add up."""
LABELS_DRAWS = 3
BENT = 1.0
"""σ_Δ in pixels: twice the paper's largest for photos, so that one sees it at this size."""
OUTLINE = (255, 0, 200)


def labels(image: Tensor, seed: int) -> Sheet:
    """Outlines of the labels on the augmented picture: fixed, moved, and with shared offsets."""
    classes = shades(image)
    augment = ProRandConv(repeats=REPEATED, offsets=(BENT, BENT))
    shared = ProRandConv(repeats=REPEATED, offsets=(BENT, BENT), shared_offsets=True)
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for number in range(LABELS_DRAWS):
        draw = augment.draw(image, generator)
        bent = shared.draw(image, torch.Generator().manual_seed(seed + number))
        bent = replace(bent, weight=draw.weight, gamma=draw.gamma, beta=draw.beta)
        own, whole = augment(image, draw=draw), shared(image, draw=bent)
        pictures = {
            "original": outlined(image, classes),
            "labels fixed": outlined(own, classes),
            "labels warped": outlined(own, warp_labels(classes, draw)),
            "shared, fixed": outlined(whole, classes),
            "shared, warped": outlined(whole, warp_labels(classes, bent)),
        }
        captions = () if number else tuple(pictures)
        rows.append(Row(f"draw {number}\nL = {REPEATED}", list(pictures.values()), captions))
    notes = [
        "The labels are the dark and the bright half of the original; lines are their borders. "
        "With one field of offsets per tap, as in the paper, labels move by the mean over the "
        "taps; with shared offsets, by the field itself. Kernel, γ and β of a row are the same. "
        f"σ_Δ = {BENT:g}, twice the paper's largest, so that one sees it."
    ]
    return Sheet("Labels that stay, and labels that move", rows, notes)


def shades(image: Tensor) -> Tensor:
    """Labels ``(H, W)`` for a picture that has none: its dark half is 0, its bright half 1."""
    grey: Tensor = tvf.gaussian_blur(image, [9, 9], [2.0, 2.0]).mean(0)
    return (grey > grey.median()).byte()


def outlined(image: Tensor, classes: Tensor) -> Image.Image:
    """The picture with lines where the class changes."""
    padded = F.pad(classes[None].float(), (0, 1, 0, 1), mode="replicate")[0]
    border = (padded[1:, :-1] != classes) | (padded[:-1, 1:] != classes)
    pixels = torch.tensor(OUTLINE)[:, None, None] / 127.5 - 1
    return shown(torch.where(border, pixels, image))
