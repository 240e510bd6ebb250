"""Parts of the formulas that several engines and the public functions share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..caching import readable
from ..options import ContrastPart

FAR_AWAY = 2**23
"""Positions from here on count as outside: float32 has no fractions left (as in csrc/common.h)."""
INVALID = -2
"""A position for what has none: its neighbours are outside of the image, too."""


def wrap(position: Tensor, length: int, padding: str) -> Tensor:
    """Bring positions along one axis back into the image, as ``padding`` continues it.

    ``"reflect"`` mirrors at the border pixels without repeating them; ``"replicate"`` stops at
    them; ``"zeros"`` leaves positions outside, where samples are 0. Infinite positions and NaN are
    outside whatever the padding.
    """
    somewhere = position.abs() < FAR_AWAY
    if padding == "replicate":
        position = position.clamp(0, length - 1)
    elif padding == "reflect":
        period = max(2 * (length - 1), 1)
        position = position.abs().remainder(period)
        position = torch.minimum(position, period - position) if length > 1 else 0 * position
    return torch.where(somewhere, position, INVALID)


def pad_same(images: Tensor, kernel_size: int, padding: str) -> Tensor:
    """Continue images, or volumes, by the kernel's radius, even by more than they hold."""
    radius, size = (kernel_size - 1) // 2, images.shape[2:]
    if padding == "zeros":
        return F.pad(images, (radius, radius) * len(size))
    axes = (torch.arange(-radius, side + radius, device=images.device) for side in size)
    places = [wrap(axis, side, padding) for axis, side in zip(axes, size, strict=True)]
    everything: tuple[Any, ...] = (..., *torch.meshgrid(places, indexing="ij"))
    return images[everything]


def position_dtype(device: torch.device) -> torch.dtype:
    """What positions are computed in: their rounding in float32 grows with every repetition."""
    return torch.float32 if device.type == "mps" else torch.float64


def axes(dims: int) -> tuple[int, ...]:
    """The axes of images, or volumes, after the channels."""
    return tuple(range(-dims, 0))


def unsqueeze_spatial(values: Tensor, dims: int) -> Tensor:
    """Values (..., C) of channels, to broadcast over images with ``dims`` axes."""
    return values.reshape(*values.shape, *(1,) * dims)


def standardised(images: Tensor, eps: float, dims: int) -> Tensor:
    """Zero mean and unit variance per image and channel (biased variance, eps in the root)."""
    mean = images.mean(axes(dims), keepdim=True)
    variance = images.var(axes(dims), correction=0, keepdim=True)
    return (images - mean) * (variance + eps).rsqrt()


def contrasted(
    images: Tensor,
    parts: Collection[ContrastPart],
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float,
    dims: int,
) -> Tensor:
    """Eq. 3: standardise, affine with gamma and beta (..., C), tanh, those of them in ``parts``."""
    if "standardise" in parts:
        images = standardised(images, eps, dims)
    if "affine" in parts and gamma is not None and beta is not None:
        images = images * unsqueeze_spatial(gamma, dims) + unsqueeze_spatial(beta, dims)
    return images.tanh() if "tanh" in parts else images


def active_taps(weight: Tensor) -> tuple[int, ...]:
    """Taps whose weights matter at this precision: Gaussian smoothing makes most of them vanish.

    ``weight`` is ``(C_out, C_in, k, k)``, of volumes with a third k.
    """
    taps = weight[0, 0].numel()
    if not readable(weight):
        return tuple(range(taps))
    largest = weight.abs().amax((0, 1)).flatten()
    threshold = largest.max() * torch.finfo(weight.dtype).eps / 16
    return tuple((largest > threshold).nonzero().flatten().tolist()) or (taps // 2,)
