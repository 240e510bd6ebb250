"""Gaussian random fields: the smooth noise from which deformable offsets are made."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .caching import cached
from .errors import ProRandConvError

STEEP = 6.0
"""From this exponent on, fields are made of the few waves that carry power."""
LEFT_OUT = 1e-6
"""Largest share of the variance that those waves may leave out."""


def gaussian_random_field(
    count: int,
    size: tuple[int, int],
    alpha: float = 10.0,
    *,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw ``count`` independent Gaussian random fields.

    Each field is real and has a power spectrum proportional to ``|k| ** -alpha``, where ``k`` is
    the spatial frequency in cycles per pixel. Where height and width differ, it is cut out of a
    field on the enclosing square, so that it is as smooth along one side as along the other. Last,
    it is shifted and scaled to zero mean and unit (biased) standard deviation over its own pixels.
    From alpha = 6 on, high frequencies that together hold less than a millionth of the square's
    variance are left out. A field of a single pixel has nothing to vary and is zero.

    Args:
        count: how many fields.
        size: height and width in pixels.
        alpha: exponent of the power spectrum; 0 is white noise, 10 the paper's smooth offsets.
        generator: source of randomness; torch's global CPU generator by default.
        device: where the fields end up. The random numbers are drawn on the generator's device
            (the CPU by default), so the same seed gives the same fields everywhere.
        dtype: ``torch.float32`` or ``torch.float64``.

    Returns:
        Tensor of shape ``(count, height, width)``.

    Example:
        >>> field = gaussian_random_field(2, (32, 48), generator=torch.Generator().manual_seed(0))
        >>> field.shape, field.mean().abs().item() < 1e-6
        (torch.Size([2, 32, 48]), True)
    """
    height, width = size
    if count < 0:
        raise ProRandConvError.about("count", count, "a number of fields >= 0")
    if height < 1 or width < 1:
        raise ProRandConvError.about("size", size, "(height, width), each >= 1")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise ProRandConvError.about("alpha", alpha, "a finite exponent >= 0, e.g. 10.0")
    if dtype not in (torch.float32, torch.float64):
        raise ProRandConvError.about("dtype", dtype, "torch.float32 or torch.float64")

    drawn_on = generator.device if generator is not None else torch.device("cpu")
    noise = functools.partial(torch.randn, count, generator=generator, dtype=dtype, device=drawn_on)
    if alpha >= STEEP:
        field = _from_waves(noise, *_waves(height, width, float(alpha), dtype, drawn_on))
    else:
        field = _from_modes(noise, _modes(max(size), float(alpha), dtype, drawn_on))
        field = field[:, :height, :width]
    if height != width:
        # A field on a square is centred and scaled already, a cut of it is not.
        field = field - field.mean((-2, -1), keepdim=True)
        field = _unit_norm(field).mul_(math.sqrt(height * width))
    return field.to(device) if device is not None else field


def _from_waves(
    noise: Callable[..., Tensor], by_row: Tensor, amplitude: Tensor, by_column: Tensor
) -> Tensor:
    """The closed form: products of the few waves along columns and rows that carry power.

    The waves are orthonormal on a square, so there a field's deviation is the norm of its
    coefficients.
    """
    coefficient = _unit_norm(noise(*amplitude.shape).mul_(amplitude))
    along_rows = torch.mm(coefficient.flatten(0, 1), by_column)
    along_rows = along_rows.view(*coefficient.shape[:2], by_column.shape[1])
    return torch.bmm(by_row.expand(len(coefficient), -1, -1), along_rows)


def _from_modes(noise: Callable[..., Tensor], amplitude: Tensor) -> Tensor:
    """All modes of a square, by one inverse FFT of the half spectrum."""
    modes = torch.view_as_complex(noise(*amplitude.shape, 2).mul_(amplitude.unsqueeze(-1)))
    side = len(amplitude)
    field = torch.fft.irfft2(modes, s=(side, side), norm="forward")
    # The mean is zero, so the norm is the deviation times the root of the number of pixels.
    return _unit_norm(field).mul_(math.sqrt(side * side))


def _unit_norm(x: Tensor) -> Tensor:
    """Scale each of several matrices to norm 1, in place; zero stays zero."""
    norm = torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True)
    return x.div_(norm.clamp_min_(torch.finfo(x.dtype).tiny))


@cached(maxsize=16)
def _waves(
    height: int, width: int, alpha: float, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Waves along a column (H, R), amplitudes (R, R) of their products, waves along a row (R, W).

    They are those of the enclosing square.
    """
    side = max(height, width)
    count = _wave_count(side, alpha)
    frequency = _wave_frequency(side)
    power = _power(torch.hypot(frequency[:, None], frequency), alpha)[:count, :count]
    basis = _wave_basis(side)[:, :count]
    by_row, amplitude, by_column = (
        t.to(dtype=dtype, device=device, memory_format=torch.contiguous_format)
        for t in (basis[:height], power.sqrt(), basis[:width].t())
    )
    return by_row, amplitude, by_column


def _wave_count(side: int, alpha: float) -> int:
    """How many waves along each side leave out no more than ``LEFT_OUT`` of the variance.

    Computed without tensors, which have no values under a fake mode.
    """
    frequency = np.arange(1, side + 1) // 2 / side
    with np.errstate(divide="ignore"):
        power = (np.hypot(frequency[:, None], frequency) * side) ** -alpha
    power[0, 0] = 0
    total = power.sum()
    for count in range(1, side, 2):
        if total - power[:count, :count].sum() <= LEFT_OUT * total:
            return count
    return side


def _wave_frequency(length: int) -> Tensor:
    """Cycles per pixel of each wave over ``length`` pixels: constant, then cosine and sine."""
    return torch.div(torch.arange(1, length + 1), 2, rounding_mode="floor").double() / length


def _wave_basis(length: int) -> Tensor:
    """The waves as columns (pixel, wave): orthogonal, with a mean square of 1."""
    phase = (
        2 * math.pi * torch.arange(length, dtype=torch.float64)[:, None] * _wave_frequency(length)
    )
    basis = torch.where(torch.arange(length) % 2 == 1, phase.cos(), phase.sin())
    basis[:, 0] = 1
    return basis / basis.square().mean(0).sqrt()


@cached(maxsize=16)
def _modes(side: int, alpha: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Amplitudes of the half spectrum (S, S // 2 + 1) of a real field on a square."""
    rows = torch.fft.fftfreq(side, dtype=torch.float64)
    columns = torch.fft.rfftfreq(side, dtype=torch.float64)
    amplitude = _power(torch.hypot(rows[:, None], columns), alpha).sqrt()
    # irfft2 reads only the real part of the first column and, if the width is even, of the last:
    # unsymmetrised noise loses half of its variance there.
    amplitude[:, 0] *= math.sqrt(2)
    if side % 2 == 0:
        amplitude[:, -1] *= math.sqrt(2)
    return amplitude.to(dtype=dtype, device=device)


def _power(frequency: Tensor, alpha: float) -> Tensor:
    """Power |k| ** -alpha of each mode, 1 at the lowest frequency; the constant has none."""
    frequency[0, 0] = math.inf
    power = (frequency / frequency.min()) ** -alpha
    power[0, 0] = 0
    return power
