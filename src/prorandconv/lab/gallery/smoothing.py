"""The paper's Fig. 7 (d): the Gaussian filter on the kernel, from 1×1 to a full 3×3."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from ... import ProRandConv
from ...functional import gaussian_window
from .picture import shown
from .sheet import Row, Sheet

WIDTHS = (0.01, 0.3, 0.5, 0.7, 1.0, 2.0, math.inf)
DRAWS = 4


def smoothing(image: Tensor, seed: int) -> Sheet:
    """Rows of draws, the same weights under a wider and wider filter."""
    augment = ProRandConv(smoothing=None)
    generator = torch.Generator().manual_seed(seed)
    captions = ["original", *(f"σ_g = {width:g}".replace("inf", "∞") for width in WIDTHS)]
    rows = []
    for number in range(DRAWS):
        draw = augment.draw(image, generator)
        windows = [gaussian_window(draw.weight.shape[-1], width) for width in WIDTHS]
        pictures = [
            shown(augment(image, draw=replace(draw, weight=draw.weight * window)))
            for window in windows
        ]
        name = f"draw {number}\nL = {draw.repeats}"
        rows.append(Row(name, [shown(image), *pictures], () if number else captions))
    notes = [
        "A row has one draw; only the width σ_g of the filter on its weights changes. Near 0 it "
        "leaves the middle of the kernel, a 1×1 convolution; ∞ leaves the kernel as it is. The "
        "paper draws σ_g from 0.01 to 1."
    ]
    return Sheet("Gaussian smoothing of the kernel (Fig. 7 (d))", rows, notes)
