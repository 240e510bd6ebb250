"""Gaussian random fields: the smooth noise from which deformable offsets are made."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from .errors import ProRandConvError


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

    Each field is real, has zero mean and unit (biased) standard deviation over its pixels, and a
    power spectrum proportional to ``|k| ** -alpha``, where ``k`` is the spatial frequency in cycles
    per pixel: isotropic also where height and width differ. A field of a single pixel has nothing
    to vary and is zero.

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
    amplitude, basis = _spectrum(height, width, float(alpha), dtype, drawn_on)
    noise = torch.randn(count, *amplitude.shape, generator=generator, dtype=dtype, device=drawn_on)
    modes = torch.view_as_complex(noise.mul_(amplitude))
    field: Tensor
    if basis is None:
        field = torch.fft.irfft2(modes, s=(height, width), norm="forward")
    else:
        field = torch.fft.irfft(basis @ modes, n=width, norm="forward")
    deviation = field.square().mean((-2, -1), keepdim=True).sqrt()
    field = field / deviation.clamp_min(torch.finfo(dtype).tiny)
    return field.to(device) if device is not None else field


@functools.lru_cache(maxsize=16)
def _spectrum(
    height: int, width: int, alpha: float, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor | None]:
    """Amplitudes of the half spectrum (real, imaginary), and the rows of the inverse DFT if cut.

    A steep spectrum falls below the rounding error of ``dtype`` within a few modes. Only the block
    of modes above it is kept; its inverse transform over the rows is then a small matrix product
    with ``basis`` instead of a full FFT.
    """
    rows = torch.fft.fftfreq(height, dtype=torch.float64)
    columns = torch.fft.rfftfreq(width, dtype=torch.float64)
    frequency = torch.hypot(rows[:, None], columns[None, :])
    frequency[0, 0] = 1.0
    amplitude = (frequency * max(height, width)) ** (-alpha / 2)
    amplitude[0, 0] = 0.0
    # irfft2 reads only the real part of the first column and, if the width is even, of the last:
    # unsymmetrised noise loses half of its variance there.
    amplitude[:, 0] *= math.sqrt(2)
    if width % 2 == 0:
        amplitude[:, -1] *= math.sqrt(2)

    kept = amplitude >= torch.finfo(dtype).eps * amplitude.max()
    kept_rows, kept_columns = kept.any(1).nonzero().squeeze(1), int(kept.any(0).sum())
    if 4 * len(kept_rows) > height:
        return _twice(amplitude).to(dtype=dtype, device=device), None
    phase = 2 * math.pi * rows[kept_rows] * torch.arange(height, dtype=torch.float64)[:, None]
    basis = torch.polar(torch.ones_like(phase), phase)
    complex_dtype = torch.complex64 if dtype == torch.float32 else torch.complex128
    amplitude = _twice(amplitude[kept_rows, :kept_columns])
    return amplitude.to(dtype=dtype, device=device), basis.to(dtype=complex_dtype, device=device)


def _twice(amplitude: Tensor) -> Tensor:
    """The same number for the real and the imaginary part."""
    return amplitude.unsqueeze(-1).repeat(1, 1, 2)
