"""The power spectrum of random fields: which waves a field is made of, and how strong they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from .caching import cached
from .options import Size

LEFT_OUT = 1e-6
"""Largest share of the variance that steep fields may leave out."""


@cached(maxsize=16)
def wave_amplitudes(
    side: int, dims: int, alpha: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Amplitudes (R, R) of the products of orthonormal waves that carry power on a square.

    With three ``dims`` they are those of a cube, (R, R, R).
    """
    count = _wave_count(side, dims, alpha)
    frequency = _wave_frequency(side)[: _computed(count, dtype) if dims == 2 else count]
    power = _power(_distance([frequency] * dims), alpha)[(slice(count),) * dims]
    return _contiguous(power.sqrt(), dtype, device)


@cached(maxsize=16)
def waves(
    size: Size,
    counts: tuple[int, ...],
    orthonormal: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[Tensor, ...]:
    """Waves along each axis, those of the enclosing square or cube.

    They are (H, R) along a column and (R', W) along a row, in this order; depth, as it is a column,
    too, comes before them.
    """
    basis = wave_basis(max(size), orthonormal, _computed(max(counts), dtype))
    *others, last = (basis[:side, :count] for side, count in zip(size, counts, strict=True))
    return tuple(_contiguous(axis, dtype, device) for axis in (*others, last.t()))


def wave_basis(length: int, orthonormal: bool, count: int | None = None) -> Tensor:
    """The first waves, or all, over some pixels as columns: constant, then cosine and sine.

    They are orthogonal. All but the constant have the amplitude sqrt(2), and so a mean square of 1;
    only the last cosine of an even length has 2, where ``orthonormal`` does not make it 1.
    """
    pixel, frequency = torch.arange(length, dtype=torch.float64), _wave_frequency(length)[:count]
    phase = 2 * math.pi * pixel[:, None] * frequency
    basis = torch.where(torch.arange(len(frequency)) % 2 == 1, phase.cos(), phase.sin())
    basis[:, 0] = 1
    if orthonormal:
        return basis / basis.square().mean(0).sqrt()
    basis[:, 1:] *= math.sqrt(2)
    return basis


@cached(maxsize=16)
def mode_amplitudes(
    side: int, dims: int, alpha: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Amplitudes of the half spectrum (S, S // 2 + 1) of a real field on a square.

    With three ``dims`` it is that of a cube, (S, S, S // 2 + 1).
    """
    rows = torch.fft.fftfreq(side, dtype=torch.float64)
    columns = torch.fft.rfftfreq(side, dtype=torch.float64)
    amplitude = _power(_distance([*[rows] * (dims - 1), columns]), alpha).sqrt()
    # irfftn reads only the real part of the first column and, if the width is even, of the last:
    # unsymmetrised noise loses half of its variance there.
    amplitude[..., 0] *= math.sqrt(2)
    if side % 2 == 0:
        amplitude[..., -1] *= math.sqrt(2)
    return amplitude.to(dtype=dtype, device=device)


def _computed(count: int, dtype: torch.dtype) -> int | None:
    """How many waves are computed where ``count`` are needed: None for all.

    The last bit of a double depends on how many are computed at once, and with it the draws of a
    seed would.
    """
    return None if dtype == torch.float64 else count


def _wave_count(side: int, dims: int, alpha: float) -> int:
    """How many waves along each side leave out no more than ``LEFT_OUT`` of the variance.

    Computed without tensors, which have no values under a fake mode.
    """
    # Each frequency has two waves, but for zero and the last one of an even side.
    cycles = np.arange(side // 2 + 1)
    waves = np.where((cycles == 0) | (2 * cycles == side), 1, 2)

    def held(highest: int) -> float:
        """Power of all frequencies below one, a plane of them at a time: a cube takes memory."""
        plane, many = cycles[:highest].astype(float), waves[:highest]
        squares = reduce(np.add.outer, [plane**2] * (dims - 1))
        multiplicity = reduce(np.multiply.outer, [many] * (dims - 1))
        total = 0.0
        for frequency, times in zip(plane, many, strict=True):
            lengths = squares + frequency**2
            if frequency == 0:
                lengths.flat[0] = np.inf  # the constant has no power
            total += times * (multiplicity * lengths ** (-alpha / 2)).sum()
        return total

    total = held(len(cycles))
    for count in range(1, side, 2):
        if total - held((count + 1) // 2) <= LEFT_OUT * total:
            return count
    return side


def _wave_frequency(length: int) -> Tensor:
    """Cycles per pixel of each wave over ``length`` pixels."""
    return torch.div(torch.arange(1, length + 1), 2, rounding_mode="floor").double() / length


def _distance(frequencies: Sequence[Tensor]) -> Tensor:
    """Length of each vector of frequencies, one from each axis."""
    return reduce(lambda length, axis: torch.hypot(length.unsqueeze(-1), axis), frequencies)


def _power(frequency: Tensor, alpha: float) -> Tensor:
    """Power |k| ** -alpha of each mode, 1 at the lowest frequency; the constant has none."""
    constant = (0,) * frequency.dim()
    frequency[constant] = math.inf
    power = (frequency / frequency.min()) ** -alpha
    power[constant] = 0
    return power


def _contiguous(tensor: Tensor, dtype: torch.dtype, device: torch.device) -> Tensor:
    return tensor.to(dtype=dtype, device=device, memory_format=torch.contiguous_format)
