"""One draw per image: nothing is shared, so all images and taps are sampled in one call."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from .block import standardised
from .reference import wrap


def apply_per_image(
    images: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    gamma: Tensor | None,
    beta: Tensor | None,
    repeats: Sequence[int],
    *,
    standardise: bool,
    tanh: bool,
    padding: str,
    eps: float,
) -> Tensor:
    """Apply block n ``repeats[n]`` times to image n.

    Images are ordered by falling number of repetitions, so that each repetition works on the
    leading ones without reading anything back from the device.

    Args:
        images: (N, C, H, W).
        weight: (N, C, C, k, k), or (N, R, C, C, k, k) with other weights at each repetition.
        offsets: (N, 2k², H, W) or None.
        gamma: (N, C) or None.
        beta: (N, C) or None.
        repeats: N numbers, 0 leaves the image as it is.
        standardise: whether each image and channel is standardised after the convolution.
        tanh: whether tanh ends each repetition.
        padding: ``"zeros"``, ``"reflect"`` or ``"replicate"``.
        eps: added to the variance.
    """
    falling = sorted(range(len(repeats)), key=lambda n: -repeats[n])
    order = torch.tensor(falling, device=images.device)
    images = images[order]
    weight = weight[order]
    offsets, gamma, beta = (t if t is None else t[order] for t in (offsets, gamma, beta))
    grid = None if offsets is None else _grid(offsets, weight.shape[-1], padding)
    for repeat in range(max(repeats, default=0)):
        active = sum(r > repeat for r in repeats)
        now = weight[:active, repeat] if weight.dim() == 6 else weight[:active]
        if grid is None:
            result = _grouped_conv(images[:active], now, padding)
        else:
            sampled = F.grid_sample(images[:active], grid[:active], align_corners=False)
            count, channels, _, width = sampled.shape
            stacked = sampled.reshape(count, channels * now.shape[-1] ** 2, -1)
            result = torch.bmm(now.flatten(2), stacked).view(count, now.shape[1], -1, width)
        if standardise:
            result = standardised(result, eps)
        if gamma is not None and beta is not None:
            result = result * gamma[:active, :, None, None] + beta[:active, :, None, None]
        if tanh:
            result = result.tanh()
        images = torch.cat((result, images[active:]))
    return images[order.argsort()]


def _grid(offsets: Tensor, kernel_size: int, padding: str) -> Tensor:
    """Sampling positions of all taps in grid_sample's coordinates, taps stacked along the rows."""
    count, _, height, width = offsets.shape
    tap = torch.arange(kernel_size**2, device=offsets.device)[:, None, None]
    radius = (kernel_size - 1) // 2
    row = torch.arange(height, device=offsets.device)[:, None]
    column = torch.arange(width, device=offsets.device)
    displaced = offsets.view(count, -1, 2, height, width)
    rows = wrap(displaced[:, :, 0] + (row + tap // kernel_size - radius), height, padding)
    columns = wrap(displaced[:, :, 1] + (column + tap % kernel_size - radius), width, padding)
    grid = torch.stack(((2 * columns + 1) / width - 1, (2 * rows + 1) / height - 1), -1)
    return grid.view(count, -1, width, 2)


def _grouped_conv(images: Tensor, weight: Tensor, padding: str) -> Tensor:
    """Convolve image n with kernel n, as groups of one convolution."""
    count, channels, height, width = images.shape
    padded = pad_same(images.reshape(1, count * channels, height, width), weight.shape[-1], padding)
    return F.conv2d(padded, weight.flatten(0, 1), groups=count).view(count, -1, height, width)


def pad_same(images: Tensor, kernel_size: int, padding: str) -> Tensor:
    """Continue the images by the kernel's radius, also where that is more than the image holds."""
    radius = (kernel_size - 1) // 2
    if padding == "zeros":
        return F.pad(images, (radius,) * 4)
    height, width = images.shape[-2:]
    rows = wrap(torch.arange(-radius, height + radius, device=images.device), height, padding)
    columns = wrap(torch.arange(-radius, width + radius, device=images.device), width, padding)
    return images[..., rows[:, None], columns]
