"""The paper's Fig. 7 (a) to (c): what the parts of contrast diversification do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from PIL import Image
from torch import Tensor

from ... import ProRandConv
from ...draw import Draw
from ...options import ContrastPart
from .picture import shown
from .sheet import Row, Sheet

DEVIATIONS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
PAPER = 0.5
"""σ_γ and σ_β of the paper."""
PARTS: dict[str, tuple[ContrastPart, ...]] = {
    "all parts": ("standardise", "affine", "tanh"),
    "no affine": ("standardise", "tanh"),
    "no standardising": ("affine", "tanh"),
    "no tanh": ("standardise", "affine"),
    "none": (),
}
DRAWS = 2


def contrast(image: Tensor, seed: int) -> Sheet:
    """σ_γ, then σ_β, then the parts switched off one by one, for the same draws."""
    original = shown(image)
    standard = ProRandConv(gamma_std=1.0, beta_std=1.0)
    generator = torch.Generator().manual_seed(seed)
    draws = [standard.draw(image, generator) for _ in range(DRAWS)]
    rows = []
    for part, by in (("a", "γ"), ("b", "β"), ("c", "")):
        for number, draw in enumerate(draws):
            captions, pictures = zip(*_columns(image, draw, by), strict=True)
            name = f"({part}) draw {number}\nL = {draw.repeats}"
            rows.append(Row(name, [original, *pictures], () if number else ("original", *captions)))
    notes = [
        f"All rows of a draw have the same weights, offsets, L and the same normal numbers for γ "
        f"and β, times σ_γ and σ_β, which are {PAPER} where they do not vary. What is outside "
        "[-1, 1] is cut off."
    ]
    return Sheet("Contrast diversification (Fig. 7 (a) to (c))", rows, notes)


def _columns(image: Tensor, draw: Draw, by: str) -> Iterator[tuple[str, Image.Image]]:
    """Captions and pictures: by σ_γ or σ_β, or else by the parts that are switched on."""
    assert draw.gamma is not None
    assert draw.beta is not None
    if by:
        for deviation in DEVIATIONS:
            gamma, beta = (deviation, PAPER) if by == "γ" else (PAPER, deviation)
            params = replace(draw, gamma=draw.gamma * gamma, beta=draw.beta * beta)
            yield f"σ_{by} = {deviation:g}", shown(ProRandConv()(image, draw=params))
        return
    params = replace(draw, gamma=draw.gamma * PAPER, beta=draw.beta * PAPER)
    for name, parts in PARTS.items():
        options = ProRandConv(contrast=parts).draw(image).options
        yield name, shown(ProRandConv()(image, draw=replace(params, options=options)))
