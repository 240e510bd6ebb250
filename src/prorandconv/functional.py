"""The maths of random convolutions: no randomness, no state; (images, parameters) -> images.

Images are floating point, ``(N, C, H, W)`` unless a function says otherwise; volumes have a depth D
before H, and kernels of volumes are ``(C_out, C_in, k, k, k)``.
"""

from __future__ import annotations

from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor

from . import checks, ops
from .caching import cached
from .displacement import displacement as displacement
from .errors import ProRandConvError
from .fields import Field
from .labels import move_labels as move_labels
from .ops import Engine
from .ops.block import Block, Contrast
from .ops.formulas import contrasted, over_images, pad_same
from .options import PADDINGS, STANDARDISE_EPS
from .options import ContrastPart as ContrastPart
from .options import Padding as Padding
from .repetition import pro_rand_conv as pro_rand_conv
from .repetition import rand_conv as rand_conv


def random_conv(x: Tensor, weight: Tensor, padding: Padding = "zeros") -> Tensor:
    """Convolve images with one kernel, keeping their size.

    Args:
        x: images ``(N, C_in, H, W)``, or volumes.
        weight: ``(C_out, C_in, k, k)``, k odd.
        padding: border mode, ``"zeros"``, ``"reflect"`` or ``"replicate"``.
    """
    _check_convolution(x, weight, None, padding)
    if x.numel() == 0:
        return _nothing(x, weight)
    convolve = F.conv3d if x.dim() == 5 else F.conv2d
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
    _check_convolution(x, weight, offsets, padding)
    if x.numel() == 0:
        return _nothing(x, weight)
    block = Block(weight, offsets, tuple(x.shape[2:]), padding)
    return ops.apply(x, block, Contrast(standardise=False, tanh=False), 1, engine)


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
    sigma = torch.as_tensor(sigma, dtype=dtype, device=device)
    checks.one_of("spatial_dims", spatial_dims, (2, 3))
    exponent = _exponent(kernel_size, spatial_dims, sigma.dtype, sigma.device)
    return torch.exp(exponent / over_images(sigma.square(), spatial_dims))


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
    checks.images(x, dims=spatial_dims)
    channels = (x.shape[-spatial_dims - 1],)
    for name, tensor in (("gamma", gamma), ("beta", beta)):
        _check_like(x, name, tensor)
        if tensor is not None and tuple(tensor.shape) != channels:
            raise ProRandConvError.about(
                name, tuple(tensor.shape), f"(C,) = {channels} for these images"
            )
    if not affine:
        gamma = beta = None
    return contrasted(x, Contrast(standardise, gamma, beta, tanh, eps), spatial_dims)


def _nothing(x: Tensor, weight: Tensor) -> Tensor:
    """The convolution of images without a single number."""
    return x.new_zeros(len(x), len(weight), *x.shape[2:])


def _check_convolution(
    x: Tensor, weight: Tensor, offsets: Tensor | Field | None, padding: Padding
) -> None:
    checks.images(x)
    if x.dim() not in (4, 5):
        raise ProRandConvError.about(
            "x", tuple(x.shape), "images of shape (N, C, H, W) or volumes (N, C, D, H, W)"
        )
    dims, kernel = x.dim() - 2, weight.shape[2:]
    if weight.dim() != x.dim() or len(set(kernel)) > 1 or kernel[0] % 2 == 0:
        sides = ", ".join("k" * dims)
        raise ProRandConvError.about(
            "weight", tuple(weight.shape), f"a kernel of shape (C_out, C_in, {sides}) with k odd"
        )
    if weight.shape[1] != x.shape[1]:
        raise ProRandConvError.about(
            "weight", tuple(weight.shape), f"C_in = {x.shape[1]}, the images' number of channels"
        )
    _check_like(x, "weight", weight)
    _check_like(x, "offsets", offsets)
    expected = (dims * weight.shape[-1] ** dims, *x.shape[2:])
    if offsets is not None and tuple(offsets.shape) != expected:
        shape = "(2k², H, W)" if dims == 2 else "(3k³, D, H, W)"
        raise ProRandConvError.about(
            "offsets", tuple(offsets.shape), f"{shape} = {expected} for this kernel and image"
        )
    checks.one_of("padding", padding, PADDINGS)


def _check_like(x: Tensor, name: str, tensor: Tensor | Field | None) -> None:
    """Refuse to mix precisions or devices."""
    if tensor is not None and (tensor.dtype != x.dtype or tensor.device != x.device):
        raise ProRandConvError.about(
            name, f"{tensor.dtype} on {tensor.device}", f"{x.dtype} on {x.device}, as the images"
        )
