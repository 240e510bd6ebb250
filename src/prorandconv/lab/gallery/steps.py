"""One repetition of the block, step by step, and what more repetitions make of it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ... import ProRandConv, functional
from ...draw import Draw
from .picture import shown
from .sheet import Row, Sheet

REPEATS = (2, 5, 10)
DRAWS = 3


def steps(image: Tensor, seed: int) -> Sheet:
    """A row for each draw: the steps of the first repetition, then more repetitions."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for number in range(DRAWS):
        stages = by_stage(image, ProRandConv().draw(image, generator))
        captions = [] if number else list(stages)
        rows.append(Row(f"draw {number}", [shown(one) for one in stages.values()], captions))
    notes = ["What is outside [-1, 1] is cut off, in the columns before tanh."]
    return Sheet("One repetition, step by step, and more of them", rows, notes)


def by_stage(image: Tensor, params: Draw) -> dict[str, Tensor]:
    """What a draw makes of an image, by name, in the order of the computation."""
    assert params.offsets is not None
    batch = image[None]
    deformed = functional.deform_conv(batch, params.weight, params.offsets)
    scaled = functional.contrast(deformed, params.gamma, params.beta, tanh=False)
    stages = {
        "original": batch,
        "convolve": functional.random_conv(batch, params.weight),
        "deform": deformed,
        "standardise": functional.contrast(deformed, tanh=False),
        "affine": scaled,
        "tanh: L = 1": scaled.tanh(),
    }
    for repeats in REPEATS:
        again = replace(params, repeats=repeats)
        stages[f"L = {repeats}"] = functional.apply(batch, again)
    return {name: result[0] for name, result in stages.items()}
