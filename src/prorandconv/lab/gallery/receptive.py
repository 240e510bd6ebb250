"""Sec. 4.1's argument, measured: from how far away the pixels come that make a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from PIL import Image
from torch import Tensor

from ... import ProRandConv, RandConv
from ...functional import apply, random_conv
from ..sheets import Row, Sheet
from .blocks import trimmed

REPEATS = (1, 2, 3, 5, 7, 10)
LARGEST = 2 * REPEATS[-1] + 1
AROUND = 48
"""Side of the square that gradients are computed in; the block standardises over it."""
DRAWS = 24
MOST = 0.9
"""Share of the influence that the squares in the captions hold."""


def receptive(image: Tensor, seed: int) -> Sheet:
    """Where the gradient of the middle pixel lies, over draws: one kernel against L small ones."""
    top, left = (max((side - AROUND) // 2, 0) for side in image.shape[-2:])
    window = image[None, :, top : top + AROUND, left : left + AROUND]
    kinds = (
        ("RandConv\none k × k", "k", single(window, seed)),
        ("Progressive (Same)\nL times 3 × 3", "L", stacked(window, seed)),
        ("Pro-RandConv\nL blocks", "L", blocks(window, seed)),
    )
    rows = []
    for name, sign, draws in kinds:
        shares = mean_influence(window, draws)
        heads = [2 * repeats + 1 if sign == "k" else repeats for repeats in REPEATS]
        captions = [
            f"{sign} = {head}: {extent(share)} px"
            for head, share in zip(heads, shares, strict=True)
        ]
        rows.append(Row(name, [_heat(share, image.shape[-1]) for share in shares], captions))
    notes = [
        "Squared gradient of the middle pixel with respect to the pixels around it "
        f"({LARGEST + 2} × {LARGEST + 2} are shown), the mean of {DRAWS} draws; black is none. The "
        f"captions say how wide the middle square is that holds {MOST:.0%} of it. The block "
        "standardises, so that every pixel has a small part in its results."
    ]
    return Sheet("Effective receptive field (Sec. 4.1)", rows, notes)


def single(x: Tensor, seed: int) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """For each draw, images and their results under growing kernels."""
    transform = RandConv((LARGEST,), identity=0.0)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(DRAWS):
        draw, x = transform.draw(x, generator), x.detach().requires_grad_()
        weights = [trimmed(draw, 2 * repeats + 1).weight for repeats in REPEATS]
        yield [(x, random_conv(x, weight)) for weight in weights]


def stacked(x: Tensor, seed: int) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """For each draw, images and their results under repeated convolutions and nothing else."""
    transform = ProRandConv(contrast=False, smoothing=None, offsets=None)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(DRAWS):
        draw, x = transform.draw(x, generator), x.detach().requires_grad_()
        results = [x]
        for _ in range(REPEATS[-1]):
            results.append(random_conv(results[-1], draw.weight))
        yield [(x, results[repeats]) for repeats in REPEATS]


def blocks(x: Tensor, seed: int) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """For each draw, images and their results under repetitions of the whole block."""
    transform = ProRandConv()
    generator = torch.Generator().manual_seed(seed)
    for _ in range(DRAWS):
        draw, x = transform.draw(x, generator), x.detach().requires_grad_()
        once = replace(draw, repeats=1)
        results = [x]
        for _ in range(REPEATS[-1]):
            results.append(apply(results[-1], once))
        yield [(x, results[repeats]) for repeats in REPEATS]


def mean_influence(
    window: Tensor, draws: Iterator[Sequence[tuple[Tensor, Tensor]]]
) -> list[Tensor]:
    """Share ``(H, W)`` that each pixel has in the squared gradient of the middle one."""
    totals = [torch.zeros(window.shape[-2:]) for _ in REPEATS]
    for results in draws:
        for total, (x, result) in zip(totals, results, strict=True):
            total += influence(x, result)
    return [total / total.sum() for total in totals]


def influence(x: Tensor, result: Tensor) -> Tensor:
    """The shares for one draw, over all channels of the result."""
    height, width = result.shape[-2:]
    squares = torch.zeros(height, width)
    for channel in result[0, :, height // 2, width // 2]:
        (gradient,) = torch.autograd.grad(channel, x, retain_graph=True)
        squares += gradient[0].square().sum(0)
    return squares / squares.sum().clamp_min(torch.finfo(squares.dtype).tiny)


def extent(share: Tensor) -> int:
    """Side of the smallest square around the middle that holds most of the influence."""
    for radius in range(min(share.shape) // 2):
        if float(_middle(share, radius).sum()) >= MOST:
            return 2 * radius + 1
    return min(share.shape)


def _middle(share: Tensor, radius: int) -> Tensor:
    row, column = (side // 2 for side in share.shape)
    return share[row - radius : row + radius + 1, column - radius : column + radius + 1]


def _heat(share: Tensor, size: int) -> Image.Image:
    """Shares as shades; the root makes small ones visible."""
    part = _middle(share, LARGEST // 2 + 1)
    shades = (part / part.max()).sqrt().mul(255).round().byte()
    return Image.fromarray(shades.numpy()).resize((size, size), Image.Resampling.NEAREST)
