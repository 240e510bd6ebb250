"""The maths of random convolutions: no randomness, no state; (images, parameters) -> images.

Images are floating point, ``(N, C, H, W)`` unless a function says otherwise; volumes have a depth D
before H, and kernels of volumes are ``(C_out, C_in, k, k, k)``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor

from . import checks, ops
from .caching import cached
from .displacement import displacement as displacement
from .errors import ProRandConvError
from .labels import move_labels as move_labels
from .ops import Engine
from .ops.block import Block, Contrast
from .ops.formulas import contrasted, over_images, pad_same, standardised
from .options import CONTRAST_PARTS, PADDINGS, STANDARDISE_EPS, Bound, Output
from .options import ContrastPart as ContrastPart
from .options import Padding as Padding
from .params import BlockParams, ProRandConvParams, RandConvParams
from .synthesis import Waves


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
    offsets: Tensor,
    padding: Padding = "zeros",
    engine: Engine = "auto",
) -> Tensor:
    """Convolve images with one kernel whose taps are displaced by one offset field (Eq. 2).

    Equals ``torchvision.ops.deform_conv2d`` with the offsets expanded over the batch and
    ``padding=(k - 1) // 2``.

    Args:
        x: images ``(N, C_in, H, W)``, or volumes.
        weight: ``(C_out, C_in, k, k)``, k odd.
        offsets: ``(2k², H, W)`` in pixels, ``(dy, dx)`` for each tap, row by row; for volumes
            ``(3k³, D, H, W)``, ``(dz, dy, dx)`` for each tap.
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
    distance = _half_squared_distance(kernel_size, spatial_dims, sigma.dtype, sigma.device)
    return torch.exp(distance / -over_images(sigma.square(), spatial_dims))


@cached(maxsize=16)
def _half_squared_distance(
    kernel_size: int, dims: int, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """(i² + j²) / 2 of a kernel's taps (k, k), from the middle; with three ``dims``, (k, k, k)."""
    tap = torch.arange(kernel_size, dtype=dtype, device=device) - kernel_size // 2
    return reduce(lambda total, axis: total[..., None] + axis, [tap.square()] * dims) / 2


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


def pro_rand_conv(
    x: Tensor,
    params: ProRandConvParams,
    *,
    contrast: Collection[ContrastPart] = CONTRAST_PARTS,
    eps: float = STANDARDISE_EPS,
    padding: Padding = "zeros",
    bound: Bound | None = None,
    output: Output = "tanh",
    mean: float | Sequence[float] = 0.5,
    std: float | Sequence[float] = 0.5,
    engine: Engine = "auto",
) -> Tensor:
    """Apply one draw of Pro-RandConv (Algorithm 1, lines 11 to 14).

    Args:
        x: floating point images ``(..., C, H, W)``, or volumes if the draw is for volumes.
        params: the draw, from :meth:`ProRandConv.draw`.
        contrast: which of ``"standardise"``, ``"affine"``, ``"tanh"`` follow each convolution.
        eps: added to the variance when standardising.
        padding: ``"zeros"``, ``"reflect"`` or ``"replicate"``.
        bound: what keeps the result in range where neither standardisation nor tanh does:
            ``"clamp"`` to the range of normalised pixels, ``"standardise"``, or None.
        output: ``"tanh"`` returns [-1, 1] as it is, ``"pixels"`` maps it to normalised pixels.
        mean: of the normalisation that the images went through, a number or one per channel.
        std: likewise.
        engine: which implementation; see :mod:`prorandconv.ops`.

    Returns:
        Images of ``x``'s shape and dtype.
    """
    _check_kind(params, ProRandConvParams)
    result = _blocks(x, params, contrast, eps, padding, engine)
    if result is x:
        return x
    if bound == "standardise":
        result = standardised(result, eps, params.spatial_dims)
    if bound == "clamp" or output == "pixels":
        dims = params.spatial_dims
        centre, scale = _per_channel(mean, result, dims), _per_channel(std, result, dims)
        if bound == "clamp":
            result = torch.clamp(result, (0 - centre) / scale, (1 - centre) / scale)
        if output == "pixels":
            result = ((result + 1) / 2 - centre) / scale
    return _finish(x, params, result)


def rand_conv(
    x: Tensor,
    params: RandConvParams,
    *,
    contrast: Collection[ContrastPart] = (),
    eps: float = STANDARDISE_EPS,
    padding: Padding = "zeros",
    engine: Engine = "auto",
) -> Tensor:
    """Apply one draw of RandConv (Xu et al.): one convolution, or none, optionally mixed with x.

    Args:
        x: floating point images ``(..., C, H, W)``, or volumes if the draw is for volumes.
        params: the draw, from :meth:`RandConv.draw`.
        contrast: parts of contrast diversification that follow the convolution, by default none.
        eps: added to the variance when standardising.
        padding: ``"zeros"``, ``"reflect"`` or ``"replicate"``.
        engine: which implementation; see :mod:`prorandconv.ops`.

    Returns:
        Images of ``x``'s shape and dtype.
    """
    _check_kind(params, RandConvParams)
    result = _blocks(x, params, contrast, eps, padding, engine)
    if result is x:
        return x
    share = params.of_chosen().mix
    if share is not None:
        share = over_images(share.to(result), params.spatial_dims + 1)
        result = torch.lerp(result, _chosen(x, params).to(result.dtype), share)
    return _finish(x, params, result)


def compute_dtype(x: Tensor) -> torch.dtype:
    """The precision a draw is made and applied in: at least float32."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _blocks(
    x: Tensor,
    params: BlockParams,
    parts: Collection[ContrastPart],
    eps: float,
    padding: Padding,
    engine: Engine,
) -> Tensor:
    """Repeat the block on the chosen images (n, C, H, W); ``x`` itself if none is to change."""
    checks.images(x, dims=params.spatial_dims)
    if padding not in PADDINGS:
        raise ProRandConvError.about("padding", padding, f"one of {PADDINGS}")
    if x.numel() == 0 or params.identity:
        return x
    _check_params(x, params)
    images = _chosen(x, params).to(compute_dtype(x))
    params = params.of_chosen()
    weight, offsets = params.weight.to(images), _offsets(params, images)
    gamma = beta = None
    if "affine" in parts:
        gamma, beta = _to(params.gamma, images), _to(params.beta, images)
    standardise, tanh = "standardise" in parts, "tanh" in parts
    after = Contrast(standardise, gamma, beta, tanh, eps)
    size = tuple(images.shape[2:])
    reach = None if images.device.type == "cpu" else params.reach
    if not params.layered:
        block = Block(weight, offsets, size, padding, reach)
        return ops.apply(images, block, after, params.repeats, engine)
    most = max(params.repeats) if isinstance(params.repeats, tuple) else params.repeats
    for number, layer in enumerate(weight.unbind(-params.spatial_dims - 3)[:most]):
        block = Block(layer, offsets, size, padding, reach)
        images = ops.apply(images, block, after, params.in_layer(number), engine)
    return images


def _offsets(params: BlockParams, images: Tensor) -> Tensor | Waves | None:
    """The offsets for an engine: as waves where they are as drawn, so that it can make them."""
    waves = params.fields
    like = (images.dtype, images.device)
    if (
        isinstance(waves, Waves)
        and (waves.dtype, waves.device) == like
        and not waves.tracked
        and not torch.compiler.is_compiling()
    ):
        return waves
    return _to(params.offsets, images)


def _chosen(x: Tensor, params: BlockParams) -> Tensor:
    """The images that are augmented, as (n, C, H, W)."""
    images = x.reshape(-1, *x.shape[-params.spatial_dims - 1 :])
    return images if params.chosen is None else images[params.chosen.to(x.device)]


def _finish(x: Tensor, params: BlockParams, result: Tensor) -> Tensor:
    """Put the augmented images back among the others, in x's shape, dtype and memory format."""
    result = result.to(x.dtype)
    if params.chosen is not None:
        everything = x.reshape(-1, *x.shape[-params.spatial_dims - 1 :]).clone()
        result = everything.index_copy_(0, params.chosen.to(x.device), result)
    result = result.reshape(x.shape)
    last = torch.channels_last_3d if params.spatial_dims == 3 else torch.channels_last
    batched = x.dim() == params.spatial_dims + 2
    if batched and not x.is_contiguous() and x.is_contiguous(memory_format=last):
        return result.contiguous(memory_format=last)
    return result


def _nothing(x: Tensor, weight: Tensor) -> Tensor:
    """The convolution of images without a single number."""
    return x.new_zeros(len(x), len(weight), *x.shape[2:])


def _to(tensor: Tensor | None, images: Tensor) -> Tensor | None:
    return None if tensor is None else tensor.to(images)


def _per_channel(value: float | Sequence[float], images: Tensor, dims: int) -> Tensor:
    """A number, or one per channel, as a tensor that broadcasts over images."""
    numbers = torch.as_tensor(value, dtype=images.dtype, device=images.device)
    return over_images(numbers.reshape(-1), dims)


def _check_convolution(x: Tensor, weight: Tensor, offsets: Tensor | None, padding: Padding) -> None:
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
    if padding not in PADDINGS:
        raise ProRandConvError.about("padding", padding, f"one of {PADDINGS}")


def _check_like(x: Tensor, name: str, tensor: Tensor | None) -> None:
    """Refuse to mix precisions or devices."""
    if tensor is not None and (tensor.dtype != x.dtype or tensor.device != x.device):
        raise ProRandConvError.about(
            name, f"{tensor.dtype} on {tensor.device}", f"{x.dtype} on {x.device}, as the images"
        )


def _check_kind(params: object, kind: type[BlockParams]) -> None:
    """Refuse what another transform has drawn, or what is no draw at all."""
    if not isinstance(params, kind):
        transform = kind.__name__.removesuffix("Params")
        raise ProRandConvError.about(
            "params", type(params).__name__, f"{kind.__name__}, made with {transform}.draw(x)"
        )


def _check_params(x: Tensor, params: BlockParams) -> None:
    """Refuse to replay a draw on images it was not made for."""
    channels, *sides = x.shape[-params.spatial_dims - 1 :]
    size = tuple(sides)
    count = x.numel() // (channels * math.prod(size))
    if params.channels != channels:
        raise ProRandConvError.about(
            "params",
            f"a draw for {params.channels} channels",
            f"one for the images' {channels} channels; make it with draw(x)",
        )
    if params.displaced and params.size != size:
        raise ProRandConvError.about(
            "params",
            f"a draw for images of {params.size} pixels",
            f"one for the images' {size} pixels; make it with draw(x), or use "
            f"params.resized({size})",
        )
    if isinstance(params.repeats, tuple) and len(params.repeats) != count:
        raise ProRandConvError.about(
            "params",
            f"draws for {len(params.repeats)} images",
            f"one draw for each of the {count} images; make them with draw(x)",
        )
    if params.chosen is not None and params.batch not in (None, count):
        raise ProRandConvError.about(
            "params",
            f"a choice among {params.batch} images",
            f"one among the {count} images of this batch; make it with draw(x)",
        )
