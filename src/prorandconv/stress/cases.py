"""The ways in which a stress test changes images: always the same, for every network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import torch
from torch import Tensor

from .. import checks, functional
from ..draw import Draw, Options
from ..errors import ProRandConvError
from ..transforms import ProRandConv
from .shifts import FAMILIES, STRENGTHS

REPEATS = 10
"""The paper's L_max."""
PARTS = ("smoothing", "contrast", "offsets")
COMPONENTS: dict[str, dict[str, bool]] = {
    " + ".join(name for name in PARTS if on[name]) or "none": on
    for on in (dict(zip(PARTS, chosen, strict=True)) for chosen in product((False, True), repeat=3))
}
"""Which parts of the block are on: the paper's Table 8, Multi (S)."""
TOLERANCE = 0.05
"""How far interpolation may have taken pixels beyond [0, 1]."""


@dataclass(frozen=True)
class Case:
    """One way in which all images are changed."""

    kind: Literal["repeats", "components", "shifts"]
    name: str
    """number of repetitions, parts of the block that are on, or family of shifts"""
    variant: int = 0
    """which draw, or which strength, from 0"""


ORIGINAL = Case("repeats", "0")


def cases(draws: int) -> list[Case]:
    """All ways in which images are changed, the originals first.

    Args:
        draws: how many draws there are of Pro-RandConv.
    """
    found = [ORIGINAL]
    for number in range(draws):
        found += [Case("repeats", str(count), number) for count in range(1, REPEATS + 1)]
        found += [Case("components", name, number) for name in COMPONENTS]
    found += [Case("shifts", name, i) for name, own in STRENGTHS.items() for i in range(len(own))]
    return found


def stressed(
    x: Tensor,
    index: Tensor,
    *,
    mean: Sequence[float],
    std: Sequence[float],
    draws: int,
    seed: int,
) -> Iterator[tuple[Case, Tensor]]:
    """Images in every case, in the order of :func:`cases`.

    Args:
        x: normalised images ``(N, C, H, W)``.
        index: their positions in their set, ``(N,)``, on the CPU.
        mean: of their normalisation, one or one per channel.
        std: likewise.
        draws: how many draws of Pro-RandConv.
        seed: of the first draw.
    """
    checks.per_channel("mean", mean, x.shape[1])
    checks.per_channel("std", std, x.shape[1])
    centre, scale = (torch.tensor(v, device=x.device).view(1, -1, 1, 1) for v in (mean, std))
    pixels = x * scale + centre
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= -TOLERANCE and high <= 1 + TOLERANCE):
        raise ProRandConvError.about(
            "mean, std",
            (tuple(mean), tuple(std)),
            "those of the images' normalisation: without it pixels are from 0 to 1, but these "
            f"give {low:.2f} to {high:.2f}",
        )
    yield ORIGINAL, x.clone()  # the network may work in place
    for case, changed in _changed(pixels, index, draws, seed):
        yield case, ((changed - centre) / scale).to(x.dtype)


def _changed(pixels: Tensor, index: Tensor, draws: int, seed: int) -> Iterator[tuple[Case, Tensor]]:
    """Pixels in [0, 1] in every case: the same for networks of whatever normalisation."""
    signed = pixels * 2 - 1
    for number in range(draws):
        for count, changed in enumerate(_repeated(signed, seed + number), 1):
            yield Case("repeats", str(count), number), (changed + 1) / 2
        for name, changed in _by_component(signed, seed + number):
            yield Case("components", name, number), (changed + 1) / 2
    stored = (pixels * 255).round().clamp(0, 255).to(torch.uint8)
    for family, strengths in STRENGTHS.items():
        for variant, strength in enumerate(strengths):
            yield Case("shifts", family, variant), FAMILIES[family](stored, index, strength) / 255


def _repeated(x: Tensor, seed: int) -> Iterator[Tensor]:
    """Images in [-1, 1] after each repetition of one draw."""
    once = replace(_drawn(x, seed), repeats=1)
    for _ in range(REPEATS):
        x = functional.apply(x, once)
        yield x


def _drawn(x: Tensor, seed: int, **options: Any) -> Draw:
    """The same draw for images of every precision."""
    return ProRandConv(**options).draw(x.float(), torch.Generator().manual_seed(seed))


def _by_component(x: Tensor, seed: int) -> Iterator[tuple[str, Tensor]]:
    """Images in [-1, 1] under one draw with its L, with parts of the block left out."""
    draw = _drawn(x, seed)
    # The same kernel without the filter on it: it is drawn before the filter's width.
    unsmoothed = _drawn(x, seed, smoothing=None).weight
    for name, on in COMPONENTS.items():
        part = replace(
            draw,
            weight=draw.weight if on["smoothing"] else unsmoothed,
            offsets=draw.offsets if on["offsets"] else None,
            options=Options() if on["contrast"] else Options(contrast=(), bound="clamp"),
        )
        yield name, functional.apply(x, part)
