"""A sheet of random draws, as training sees them."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ... import ProRandConv
from ...draw import Draw
from .picture import shown
from .sheet import Row, Sheet

COLUMNS, ROWS = 8, 5
EARLY = 3
STILL = 0.03
"""Mean change by one repetition, in shares of the range [-1, 1], below which a draw has settled."""


def draws(image: Tensor, seed: int) -> Sheet:
    """The original, then the first draws of the seed, each with its own L."""
    augment = ProRandConv()
    generator = torch.Generator().manual_seed(seed)
    drawn = [augment.draw(image, generator) for _ in range(COLUMNS * ROWS - 1)]
    pictures = [shown(image), *(shown(augment(image, draw=params)) for params in drawn)]
    captions = ["original", *(f"{i}: L = {params.repeats}" for i, params in enumerate(drawn))]
    rows = []
    for begin in range(0, len(pictures), COLUMNS):
        part = slice(begin, begin + COLUMNS)
        rows.append(Row("", pictures[part], captions[part]))
    still = sum(settled(augment, image, params) for params in drawn)
    notes = [
        f"In {still} of these {len(drawn)} draws the picture has settled by L = {EARLY}: one more "
        f"repetition changes a pixel by less than {STILL:.0%} of the range, on average."
    ]
    return Sheet(f"The first {len(drawn)} draws of Pro-RandConv", rows, notes)


def settled(augment: ProRandConv, image: Tensor, params: Draw) -> bool:
    """Whether repetitions beyond the first few hardly change the picture."""
    before = augment(image, draw=replace(params, repeats=EARLY))
    after = augment(image, draw=replace(params, repeats=EARLY + 1))
    return float((after - before).abs().mean()) < STILL * 2
