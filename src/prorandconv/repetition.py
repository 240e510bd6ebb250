"""A draw, applied to images as often as it says."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from . import checks, ops
from .errors import ProRandConvError
from .fields import Field
from .ops import Engine
from .ops.block import Block, Contrast
from .ops.formulas import over_images, standardised
from .options import (
    CONTRAST_PARTS,
    PADDINGS,
    STANDARDISE_EPS,
    Bound,
    ContrastPart,
    Output,
    Padding,
)
from .params import BlockParams, ProRandConvParams, RandConvParams


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
    checks.one_of("padding", padding, PADDINGS)
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


def _offsets(params: BlockParams, images: Tensor) -> Tensor | Field | None:
    """The offsets in the images' precision, where they are."""
    if params.offsets is None or not isinstance(params.offsets, Field):
        return _to(params.offsets, images)
    return params.offsets.to(images.device, images.dtype)


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


def _to(tensor: Tensor | None, images: Tensor) -> Tensor | None:
    return None if tensor is None else tensor.to(images)


def _per_channel(value: float | Sequence[float], images: Tensor, dims: int) -> Tensor:
    """A number, or one per channel, as a tensor that broadcasts over images."""
    numbers = torch.as_tensor(value, dtype=images.dtype, device=images.device)
    return over_images(numbers.reshape(-1), dims)


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
    if params.offsets is not None and params.size != size:
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
