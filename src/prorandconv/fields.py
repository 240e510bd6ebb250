"""Gaussian random fields: the smooth noise from which deformable offsets are made."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .errors import ProRandConvError
from .options import Size
from .spectrum import wave_amplitudes
from .synthesis import Fields, Noise, Waves, unit_norm

STEEP = 6.0
"""From this exponent on, fields are made of the few waves that carry power."""


def gaussian_random_field(
    count: int,
    size: Size,
    alpha: float = 10.0,
    *,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw ``count`` independent Gaussian random fields.

    Each field is real and has a power spectrum proportional to ``|k| ** -alpha``, where ``k`` is
    the spatial frequency in cycles per pixel. Where height and width differ, it is cut out of a
    field on the enclosing square, so that it is as smooth along one side as along the other; fields
    of a volume are cut out of the enclosing cube. Last, it is shifted and scaled to zero mean and
    unit (biased) standard deviation over its own pixels.
    From alpha = 6 on, high frequencies that together hold less than a millionth of the square's
    variance are left out. A field of a single pixel has nothing to vary and is zero.

    Args:
        count: how many fields.
        size: height and width in pixels, or depth, height and width in voxels.
        alpha: exponent of the power spectrum; 0 is white noise, 10 the paper's smooth offsets.
        generator: source of randomness; torch's global CPU generator by default.
        device: where the fields end up. The random numbers are drawn on the generator's device
            (the CPU by default), so the same seed gives the same fields everywhere.
        dtype: ``torch.float32`` or ``torch.float64``.

    Returns:
        Tensor of shape ``(count, *size)``.

    Example:
        >>> field = gaussian_random_field(2, (32, 48), generator=torch.Generator().manual_seed(0))
        >>> field.shape, field.mean().abs().item() < 1e-6
        (torch.Size([2, 32, 48]), True)
    """
    if count < 0:
        raise ProRandConvError.about("count", count, "a number of fields >= 0")
    if len(size) not in (2, 3) or min(size) < 1:
        raise ProRandConvError.about("size", size, "([depth,] height, width), each >= 1")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise ProRandConvError.about("alpha", alpha, "a finite exponent >= 0, e.g. 10.0")
    if dtype not in (torch.float32, torch.float64):
        raise ProRandConvError.about("dtype", dtype, "torch.float32 or torch.float64")
    drawn_on = generator.device if generator is not None else torch.device("cpu")
    unit = torch.ones((), dtype=dtype, device=drawn_on)
    field = draw_fields((count,), tuple(size), alpha, unit, generator).made()
    return field.to(device) if device is not None else field


def draw_fields(
    shape: tuple[int, ...],
    size: Size,
    alpha: float,
    sigma: Tensor,
    generator: torch.Generator | None = None,
) -> Fields:
    """Draw the random numbers of fields ``(*shape, *size)``, on sigma's device and in its dtype.

    ``sigma`` is the fields' standard deviation: one number for each along the leading dimensions
    of ``shape``, the last of which counts fields that share it.
    """
    side, dims, dtype, device = max(size), len(size), sigma.dtype, sigma.device
    if alpha < STEEP:
        shape = (*shape, *(side,) * (dims - 1), side // 2 + 1, 2)
        noise = torch.randn(shape, generator=generator, dtype=dtype, device=device)
        return Noise(noise, size, sigma, float(alpha))
    amplitude = wave_amplitudes(side, dims, float(alpha), dtype, device)
    shape = (*shape, *amplitude.shape)
    noise = torch.randn(shape, generator=generator, dtype=dtype, device=device)
    return Waves(unit_norm(noise.mul_(amplitude), dims), size, sigma)
