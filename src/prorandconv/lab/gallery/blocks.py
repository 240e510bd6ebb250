"""Figures of the block: Fig. 2, its steps, Fig. 7 (a) to (d), and draws as training sees them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from PIL import Image
from torch import Tensor

from ... import ProRandConv, RandConv, functional
from ...draw import Draw
from ...functional import gaussian_window
from ...options import ContrastPart
from ..sheets import Row, Sheet, shown

GROWTH = (1, 2, 3, 4, 6, 8, 10)
SINGLE, PROGRESSIVE = 2, 3
"""Rows of each kind."""


def overview(image: Tensor, seed: int) -> Sheet:
    """Columns see equally far: L repetitions of 3×3, or one kernel of 2L + 1."""
    original = shown(image)
    largest = 2 * GROWTH[-1] + 1
    single = RandConv((largest,), identity=0.0)
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for number in range(SINGLE):
        params = single.draw(image, generator)
        pictures = [shown(single(image, draw=trimmed(params, 2 * n + 1))) for n in GROWTH]
        captions = ["original", *(f"k = {2 * n + 1}" for n in GROWTH)] if not number else []
        rows.append(Row(f"RandConv\ndraw {number}", [original, *pictures], captions))
    augment = ProRandConv()
    generator.manual_seed(seed)
    for number in range(PROGRESSIVE):
        draw = augment.draw(image, generator)
        pictures = [shown(augment(image, draw=replace(draw, repeats=n))) for n in GROWTH]
        captions = ["original", *(f"L = {n}" for n in GROWTH)] if not number else []
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


STEPS_REPEATS = (2, 5, 10)
STEPS_DRAWS = 3


def steps(image: Tensor, seed: int) -> Sheet:
    """A row for each draw: the steps of the first repetition, then more repetitions."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for number in range(STEPS_DRAWS):
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
    for repeats in STEPS_REPEATS:
        again = replace(params, repeats=repeats)
        stages[f"L = {repeats}"] = functional.apply(batch, again)
    return {name: result[0] for name, result in stages.items()}


DEVIATIONS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
STD = 0.5
"""σ_γ and σ_β of the paper."""
PARTS: dict[str, tuple[ContrastPart, ...]] = {
    "all parts": ("standardise", "affine", "tanh"),
    "no affine": ("standardise", "tanh"),
    "no standardising": ("affine", "tanh"),
    "no tanh": ("standardise", "affine"),
    "none": (),
}
CONTRAST_DRAWS = 2


def contrast(image: Tensor, seed: int) -> Sheet:
    """σ_γ, then σ_β, then the parts switched off one by one, for the same draws."""
    original = shown(image)
    standard = ProRandConv(gamma_std=1.0, beta_std=1.0)
    generator = torch.Generator().manual_seed(seed)
    draws = [standard.draw(image, generator) for _ in range(CONTRAST_DRAWS)]
    rows = []
    for part, by in (("a", "γ"), ("b", "β"), ("c", "")):
        for number, draw in enumerate(draws):
            captions, pictures = zip(*_columns(image, draw, by), strict=True)
            name = f"({part}) draw {number}\nL = {draw.repeats}"
            rows.append(Row(name, [original, *pictures], () if number else ("original", *captions)))
    notes = [
        f"All rows of a draw have the same weights, offsets, L and the same normal numbers for γ "
        f"and β, times σ_γ and σ_β, which are {STD} where they do not vary. What is outside "
        "[-1, 1] is cut off."
    ]
    return Sheet("Contrast diversification (Fig. 7 (a) to (c))", rows, notes)


def _columns(image: Tensor, draw: Draw, by: str) -> Iterator[tuple[str, Image.Image]]:
    """Captions and pictures: by σ_γ or σ_β, or else by the parts that are switched on."""
    assert draw.gamma is not None
    assert draw.beta is not None
    if by:
        for deviation in DEVIATIONS:
            gamma, beta = (deviation, STD) if by == "γ" else (STD, deviation)
            params = replace(draw, gamma=draw.gamma * gamma, beta=draw.beta * beta)
            yield f"σ_{by} = {deviation:g}", shown(ProRandConv()(image, draw=params))
        return
    params = replace(draw, gamma=draw.gamma * STD, beta=draw.beta * STD)
    for name, parts in PARTS.items():
        options = ProRandConv(contrast=parts).draw(image).options
        yield name, shown(ProRandConv()(image, draw=replace(params, options=options)))


WIDTHS = (0.01, 0.3, 0.5, 0.7, 1.0, 2.0, math.inf)
SMOOTHING_DRAWS = 4


def smoothing(image: Tensor, seed: int) -> Sheet:
    """Rows of draws, the same weights under a wider and wider filter."""
    augment = ProRandConv(smoothing=None)
    generator = torch.Generator().manual_seed(seed)
    captions = ["original", *(f"σ_g = {width:g}".replace("inf", "∞") for width in WIDTHS)]
    rows = []
    for number in range(SMOOTHING_DRAWS):
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


COLUMNS, ROWS = 8, 5
EARLY = 3
TOLERANCE = 0.03
"""A draw has converged if one more repetition changes less of the range [-1, 1], on average."""


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
    count = sum(converged(augment, image, params) for params in drawn)
    notes = [
        f"In {count} of these {len(drawn)} draws the picture has settled by L = {EARLY}: one more "
        f"repetition changes a pixel by less than {TOLERANCE:.0%} of the range, on average."
    ]
    return Sheet(f"The first {len(drawn)} draws of Pro-RandConv", rows, notes)


def converged(augment: ProRandConv, image: Tensor, params: Draw) -> bool:
    """Whether repetitions beyond the first few hardly change the picture."""
    before = augment(image, draw=replace(params, repeats=EARLY))
    after = augment(image, draw=replace(params, repeats=EARLY + 1))
    return float((after - before).abs().mean()) < TOLERANCE * 2
