"""The maths of random convolutions: no randomness, no state; (images, parameters) -> images.

Images are floating point, ``(N, C, H, W)`` unless a function says otherwise; volumes have a depth D
before H, and kernels of volumes are ``(C_out, C_in, k, k, k)``.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from . import checks, ops
from .caching import cached, without_autocast
from .displacement import displacement as displacement
from .draw import Draw, Options
from .errors import ProRandConvError
from .fields import Field
from .labels import warp_labels as warp_labels
from .ops import Engine
from .ops.formulas import contrasted, pad_same, standardised, unsqueeze_spatial
from .options import CONTRAST_PARTS, PADDINGS, STANDARDISE_EPS
from .options import ContrastPart as ContrastPart
from .options import Padding as Padding


def apply(x: Tensor, draw: Draw, engine: Engine = "auto") -> Tensor:
    """Apply one draw (Algorithm 1, lines 11 to 14), as its options say.

    Args:
        x: floating point images ``(..., C, H, W)``, or volumes if the draw is for volumes.
        draw: from a transform's ``draw(x)``, or a file.
        engine: which implementation; see :mod:`prorandconv.ops`.

    Returns:
        Images of ``x``'s shape and dtype, in new memory.

    Example:
        >>> from prorandconv import ProRandConv
        >>> augment, x = ProRandConv(), torch.rand(8, 3, 32, 32) * 2 - 1
        >>> draw = augment.draw(x)
        >>> torch.equal(apply(x, draw), augment(x, draw=draw))
        True
    """
    if not isinstance(draw, Draw):
        raise ProRandConvError.about(
            "draw", type(draw).__name__, "a Draw, from a transform's draw(x) or Draw.load(path)"
        )
    dims, changed = draw.spatial_dims, draw.changed
    checks.images(x, dims=dims)
    if x.numel() == 0 or changed == []:
        return x.clone()
    _check_fits(x, draw)
    images = x.reshape(-1, *x.shape[-dims - 1 :]).resolve_neg()
    every, index = images, None
    if changed is not None:
        index = torch.tensor(changed, device=x.device)
        images, draw = images[index], draw.of(changed) if draw.per_image else draw
    images = images.to(compute_dtype(x))
    with without_autocast(x.device):
        draw = draw.to(images.device, images.dtype)
        result = in_range(draw.operate(images, engine), draw.options, dims)
        if draw.mix is not None:
            result = torch.lerp(result, images, unsqueeze_spatial(draw.mix, dims + 1))
        result = result.to(x.dtype)
        if index is not None:
            result = every.index_copy(0, index, result)
    result = result.reshape(x.shape)
    last = torch.channels_last_3d if dims == 3 else torch.channels_last
    batched = x.dim() == dims + 2 and not x.is_contiguous()
    if batched and x.is_contiguous(memory_format=last):
        return result.contiguous(memory_format=last)
    return result


def compute_dtype(x: Tensor) -> torch.dtype:
    """The precision a draw is made and applied in: at least float32."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def in_range(images: Tensor, options: Options, dims: int) -> Tensor:
    """Images after their last repetition, in the range that the options ask for."""
    if options.bound == "standardise":
        return standardised(images, options.eps, dims)
    if options.bound is None and options.output == "tanh":
        return images
    mean, std = (
        unsqueeze_spatial(torch.tensor(value, dtype=images.dtype, device=images.device), dims)
        for value in (options.mean, options.std)
    )
    if options.bound == "clamp":
        return torch.clamp(images, (0 - mean) / std, (1 - mean) / std)
    return ((images + 1) / 2 - mean) / std


def _check_fits(x: Tensor, draw: Draw) -> None:
    """Raise an error for images that a draw was not made for."""
    channels, *sides = x.shape[-draw.spatial_dims - 1 :]
    size, count = tuple(sides), x.numel() // math.prod((channels, *sides))
    got = expected = None
    if draw.channels != channels:
        got, expected = f"a draw for {draw.channels} channels", f"images' {channels} channels"
    elif draw.offsets is not None and draw.size != size:
        got = f"a draw for images of {draw.size} pixels"
        expected = f"images' {size} pixels, as draw.resized({size})"
    elif isinstance(draw.repeats, tuple) and len(draw.repeats) != count:
        got, expected = f"draws for {len(draw.repeats)} images", f"{count} images, with a draw each"
    elif draw.selected is not None and draw.batch_size != count:
        got = f"a selection from {draw.batch_size} images"
        expected = f"{count} images of this batch"
    if got is not None:
        raise ProRandConvError.about("draw", got, f"one for the {expected}; make it with draw(x)")


def random_conv(x: Tensor, weight: Tensor, padding: Padding = "zeros") -> Tensor:
    """Convolve images with one kernel, keeping their size.

    Args:
        x: images ``(N, C_in, H, W)``, or volumes.
        weight: ``(C_out, C_in, k, k)``, k odd.
        padding: border mode, ``"zeros"``, ``"reflect"`` or ``"replicate"``.
    """
    dims = _check_convolution(x, weight, padding)
    if x.numel() == 0:
        return x.new_zeros(len(x), len(weight), *x.shape[2:])
    convolve = F.conv3d if dims == 3 else F.conv2d
    with without_autocast(x.device):
        return convolve(pad_same(x, weight.shape[-1], padding), weight)


def deform_conv(
    x: Tensor,
    weight: Tensor,
    offsets: Tensor | Field,
    padding: Padding = "zeros",
    engine: Engine = "auto",
) -> Tensor:
    """Convolve images with one kernel whose taps are displaced by one offset field (Eq. 2).

    Equals ``torchvision.ops.deform_conv2d`` with the offsets expanded over the batch and
    ``padding=(k - 1) // 2``.

    Args:
        x: images ``(N, C_in, H, W)``, or volumes.
        weight: ``(C_out, C_in, k, k)``, k odd.
        offsets: ``(2k², H, W)`` in pixels, ``(dy, dx)`` for each tap, row by row, as a tensor or
            a field; for volumes ``(3k³, D, H, W)``, ``(dz, dy, dx)`` for each tap.
        padding: border mode, ``"zeros"``, ``"reflect"`` or ``"replicate"``.
        engine: which implementation; see :mod:`prorandconv.ops`.

    Example:
        >>> x, weight = torch.randn(2, 3, 8, 9), torch.randn(3, 3, 3, 3)
        >>> still = torch.zeros(18, 8, 9)
        >>> torch.allclose(deform_conv(x, weight, still), random_conv(x, weight), atol=1e-5)
        True
    """
    dims = _check_convolution(x, weight, padding)
    size = tuple(x.shape[2:])
    checks.like("offsets", offsets, x)
    sides = ["D", "H", "W"][-dims:]
    checks.shape(
        "offsets",
        offsets,
        " ".join(["T", *sides]),
        T=dims * weight.shape[-1] ** dims,
        **dict(zip(sides, size, strict=True)),
    )
    if x.numel() == 0:
        return x.new_zeros(len(x), len(weight), *size)
    draw = Draw(
        weight=weight, offsets=offsets, size=size, options=Options(contrast=(), padding=padding)
    )
    with without_autocast(x.device):
        return ops.apply(x, draw, engine)


def gaussian_window(
    kernel_size: int,
    sigma: float | Tensor,
    *,
    spatial_dims: int = 2,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Gaussian filter exp(-(i² + j²) / 2σ²) over a kernel's taps, 1 in the middle.

    Args:
        kernel_size: side k of the kernel, odd.
        sigma: width of the filter; a tensor of shape ``(...)`` gives ``(..., k, k)``.
        spatial_dims: 2 for kernels of images, 3 for those of volumes, ``(..., k, k, k)``.
        dtype: of the result, by default sigma's or torch's default.
        device: of the result, by default sigma's or the CPU.

    Example:
        >>> gaussian_window(3, 0.5).round(decimals=3)
        tensor([[0.0180, 0.1350, 0.0180],
                [0.1350, 1.0000, 0.1350],
                [0.0180, 0.1350, 0.0180]])
    """
    checks.kernel_size("kernel_size", kernel_size)
    if not isinstance(sigma, Tensor):
        sigma = torch.tensor(sigma, device="cpu" if device is None else device)
    sigma = sigma.to(device, dtype)
    checks.one_of("spatial_dims", spatial_dims, (2, 3))
    exponent = _exponent(kernel_size, spatial_dims, sigma.dtype, sigma.device)
    each: tuple[Any, ...] = (..., *(None,) * spatial_dims)
    return torch.exp(exponent / sigma.square()[each])


@cached(maxsize=16)
def _exponent(kernel_size: int, dims: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """-(i² + j²) / 2 of a kernel's taps (k, k), from the middle; with three ``dims``, (k, k, k)."""
    tap = torch.arange(kernel_size, dtype=dtype, device=device) - kernel_size // 2
    return reduce(lambda total, axis: total[..., None] + axis, [tap.square()] * dims) / -2


def contrast(
    x: Tensor,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    eps: float = STANDARDISE_EPS,
    *,
    standardise: bool = True,
    affine: bool = True,
    tanh: bool = True,
    spatial_dims: int = 2,
) -> Tensor:
    """Contrast diversification (Eq. 3): standardise, affine, tanh, each of them switchable.

    Args:
        x: images ``(..., C, H, W)``; each image and channel has its own statistics.
        gamma: scale ``(C,)``; without gamma and beta there is no affine.
        beta: shift ``(C,)``.
        eps: added to the (biased) variance inside the root.
        standardise: whether to standardise.
        affine: whether to scale and shift.
        tanh: whether to squash into [-1, 1].
        spatial_dims: 2 for images, 3 for volumes ``(..., C, D, H, W)``.

    Example:
        >>> x = torch.randn(2, 3, 8, 8)
        >>> flat = contrast(x, gamma=torch.zeros(3), beta=torch.full((3,), 0.5))
        >>> torch.allclose(flat, torch.tensor(0.5).tanh().expand_as(flat))
        True
    """
    if (gamma is None) != (beta is None):
        raise ProRandConvError.about(
            "gamma, beta", (gamma, beta), "both tensors of shape (C,), or neither"
        )
    checks.one_of("spatial_dims", spatial_dims, (2, 3))
    checks.number("eps", eps)
    checks.images(x, dims=spatial_dims)
    for name, tensor in (("gamma", gamma), ("beta", beta)):
        if tensor is not None:
            checks.like(name, tensor, x)
            checks.shape(name, tensor, "C", C=x.shape[-spatial_dims - 1])
    switches = zip(CONTRAST_PARTS, (standardise, affine, tanh), strict=True)
    parts = [part for part, is_on in switches if is_on]
    with without_autocast(x.device):
        return contrasted(x, parts, gamma, beta, eps, spatial_dims)


def _check_convolution(x: Tensor, weight: Tensor, padding: Padding) -> int:
    """2 for images and 3 for volumes, once kernel and padding fit."""
    checks.images(x)
    if x.dim() not in (4, 5):
        raise ProRandConvError.about(
            "x", tuple(x.shape), "images of shape (N, C, H, W) or volumes (N, C, D, H, W)"
        )
    dims = x.dim() - 2
    known = checks.shape("weight", weight, "C_out C_in" + " k" * dims, C_in=x.shape[1])
    checks.kernel_size("weight, k", known["k"])
    checks.like("weight", weight, x)
    checks.one_of("padding", padding, PADDINGS)
    return dims
