"""The paper's Fig. 2: RandConv with growing kernels, Pro-RandConv with growing repetitions."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ... import ProRandConv, RandConv
from ...draw import Draw
from .picture import shown
from .sheet import Row, Sheet

REPEATS = (1, 2, 3, 4, 6, 8, 10)
SINGLE, PROGRESSIVE = 2, 3
"""Rows of each kind."""


def overview(image: Tensor, seed: int) -> Sheet:
    """Columns see equally far: L repetitions of 3×3, or one kernel of 2L + 1."""
    original = shown(image)
    largest = 2 * REPEATS[-1] + 1
    single = RandConv((largest,), identity=0.0)
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for number in range(SINGLE):
        params = single.draw(image, generator)
        pictures = [shown(single(image, draw=trimmed(params, 2 * n + 1))) for n in REPEATS]
        captions = ["original", *(f"k = {2 * n + 1}" for n in REPEATS)] if not number else []
        rows.append(Row(f"RandConv\ndraw {number}", [original, *pictures], captions))
    augment = ProRandConv()
    generator.manual_seed(seed)
    for number in range(PROGRESSIVE):
        draw = augment.draw(image, generator)
        pictures = [shown(augment(image, draw=replace(draw, repeats=n))) for n in REPEATS]
        captions = ["original", *(f"L = {n}" for n in REPEATS)] if not number else []
        rows.append(Row(f"Pro-RandConv\ndraw {number}", [original, *pictures], captions))
    notes = [
        f"A row is one draw: each kernel of RandConv is the middle of one of {largest}×{largest}, "
        "each repetition of Pro-RandConv is the same block once more."
    ]
    return Sheet("One large random kernel, or a small block repeated (Fig. 2)", rows, notes)


def trimmed(params: Draw, kernel_size: int) -> Draw:
    """The middle of a draw's kernel, scaled as a kernel of that size is drawn."""
    largest = params.weight.shape[-1]
    edge = (largest - kernel_size) // 2
    middle = params.weight[..., edge : largest - edge, edge : largest - edge]
    return replace(params, weight=middle * (largest / kernel_size))
