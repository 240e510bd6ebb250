"""RandConv and ProRandConv: thin classes that draw, and hand the draw to ``functional``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import Any, Literal

import torch
from torch import Tensor

from . import checks, functional
from .block_transform import RandomBlockTransform
from .checks import Range
from .errors import ProRandConvError
from .ops.formulas import over_images
from .options import BOUNDS, OUTPUTS, Bound, ContrastPart, Output
from .params import ProRandConvParams, RandConvParams


@dataclass(eq=False, repr=False)
class ProRandConv(RandomBlockTransform[ProRandConvParams]):
    """Progressive Random Convolutions: one random block, applied L times with the same parameters.

    The block is a deformable k×k convolution, standardisation per image and channel, a random
    affine and tanh; L is drawn from 1 to ``max_repeats``. One draw per call is shared by all images
    of the batch (``mode="batch"``, the paper), or each image, or ``tv_tensors.Video``, has its own
    (``mode="sample"``).

    Args:
        kernel_size: side k of the kernel, odd.
        max_repeats: L_max.
        repeats: a fixed L instead of a random one.
        weights: ``"same"`` weights in all repetitions, or ``"different"`` ones (the paper's
            Progressive (Diff)); everything else of the block is always the same.
        smoothing: range of σ_g, the width of the Gaussian filter on the kernel; None for no filter.
        offsets: range of σ_Δ, the standard deviation of the deformable offsets in pixels; None for
            a plain convolution. ``"auto"`` follows the image size, see
            :func:`prorandconv.block_transform.offset_range`.
        shared_offsets: whether all taps have the same offsets: the picture is then bent as a whole,
            instead of each tap by itself (the paper).
        alpha: exponent of the offsets' power spectrum.
        gamma_std: σ_γ of the affine's scale.
        beta_std: σ_β of the affine's shift.
        contrast: contrast diversification: True, False, or those of ``"standardise"``,
            ``"affine"``, ``"tanh"`` that shall happen.
        weight_std: σ_w; None is 1 / sqrt(k² C), for volumes 1 / sqrt(k³ C); a range ``(low, high)``
            is drawn from uniformly.
        padding: border mode, ``"zeros"``, ``"reflect"`` or ``"replicate"``.
        bound: what keeps the result in range where neither standardisation nor tanh does:
            ``"clamp"`` to the range of normalised pixels, ``"standardise"``, or None. ``"auto"`` is
            ``"clamp"`` there and None otherwise.
        output: ``"tanh"`` feeds [-1, 1] to the network as it is; ``"pixels"`` maps it to the range
            of normalised pixels.
        mean: of the normalisation that the images went through, a number or one per channel; the
            default, with ``std``, means pixels in [-1, 1]. Used by ``"clamp"`` and ``"pixels"``.
        std: likewise.
        mode: ``"batch"`` or ``"sample"``.
        p: share of the images that are augmented.
        labels: whether masks, boxes and key points beside the images stay (``"fixed"``, the paper)
            or ``"move"`` with them; see ``docs/segmentation.md``.
        ignore_index: label in moved masks of what comes from outside of the image.
        max_channels: more channels than these are refused: pictures whose channels come last, and
            volumes, would be taken for images of many channels.
        engine: ``"auto"``, or an engine by name; see :mod:`prorandconv.ops`.
        spatial_dims: 2 for images, 3 for volumes ``(..., C, D, H, W)``; see ``docs/volumes.md``.

    Example:
        >>> augment = ProRandConv()
        >>> x = torch.rand(8, 3, 32, 32) * 2 - 1
        >>> params = augment.draw(x)
        >>> torch.equal(augment(x, params=params), augment(x, params=params))
        True
    """

    kernel_size: int = 3
    max_repeats: int = 10
    _: KW_ONLY
    repeats: int | None = None
    weights: Literal["same", "different"] = "same"
    bound: Bound | Literal["auto"] | None = "auto"
    output: Output = "tanh"
    mean: float | Sequence[float] = 0.5
    std: float | Sequence[float] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.kernel_size("kernel_size", self.kernel_size)
        checks.whole_number("max_repeats", self.max_repeats)
        if self.repeats is not None:
            checks.whole_number("repeats", self.repeats)
        checks.one_of("weights", self.weights, ("same", "different"))
        checks.one_of("bound", self.bound, ("auto", *BOUNDS, None))
        if _bounded(self._parts) and self.bound not in ("auto", None):
            raise ProRandConvError.about(
                "bound",
                self.bound,
                "None where contrast standardises or ends in tanh, or contrast=False",
            )
        checks.one_of("output", self.output, OUTPUTS)
        if self.output == "pixels" and "tanh" not in self._parts:
            raise ProRandConvError.about(
                "output", self.output, '"tanh" (the result as it is), as this contrast has no tanh'
            )
        self.mean, self.std = checks.normalisation(self.mean, self.std)

    def draw(self, x: Tensor, generator: torch.Generator | None = None) -> ProRandConvParams:
        """Draw the parameters for images like ``x``.

        Args:
            x: images ``(..., C, H, W)``; their shape, dtype and device matter, not their values.
            generator: source of randomness; torch's global CPU generator by default.
        """
        sampler, count = self._start(x, generator)
        checks.per_channel("mean", self.mean, x.shape[-self.spatial_dims - 1])
        checks.per_channel("std", self.std, x.shape[-self.spatial_dims - 1])
        repeats: int | tuple[int, ...]
        if self.repeats is None:
            repeats = sampler.whole(1, self.max_repeats)
        else:
            repeats = self.repeats if self.mode == "batch" else (self.repeats,) * count
        layered = self.weights == "different"
        layers = (self.repeats or self.max_repeats) if layered else None
        block = self._block(sampler, x, self.kernel_size, layers)
        chosen = sampler.subset(count, self.p) if self.p < 1 else None
        params = ProRandConvParams(
            **block, repeats=repeats, chosen=chosen, batch=count, layered=layered
        )
        return params.to(x.device)

    @property
    def _options(self) -> dict[str, Any]:
        options, bound = super()._options, self.bound
        if bound == "auto":
            bound = None if _bounded(options["contrast"]) else "clamp"
        own = {"bound": bound, "output": self.output, "mean": self.mean, "std": self.std}
        return options | own

    def _augmented(self, x: Tensor, params: ProRandConvParams) -> Tensor:
        return functional.pro_rand_conv(x, params, **self._options, engine=self.engine)


@dataclass(eq=False, repr=False)
class RandConv(RandomBlockTransform[RandConvParams]):
    """Random convolution (Xu et al., 2021): one k×k convolution of a random size, or none.

    The parts of Pro-RandConv's block can be switched on for the paper's single-layer ablations.
    ``shared_offsets``, ``alpha``, ``gamma_std``, ``beta_std``, ``weight_std``, ``padding``,
    ``mode``, ``p``, ``labels``, ``ignore_index``, ``max_channels``, ``engine`` and ``spatial_dims``
    are those of :class:`ProRandConv`.

    Args:
        kernel_sizes: pool from which k is drawn, odd numbers.
        mix: whether the result is mixed with the original by a random share U(0, 1).
        identity: probability that a draw leaves the images as they are.
        smoothing: range of σ_g, the width of a Gaussian filter on the kernel; None for no filter.
        offsets: range of σ_Δ of deformable offsets, ``"auto"``, or None for a plain convolution.
        contrast: contrast diversification after the convolution: True, False or a choice of its
            parts.

    Example:
        >>> augment = RandConv(identity=0.0)
        >>> augment(torch.randn(4, 3, 32, 32)).shape
        torch.Size([4, 3, 32, 32])
    """

    kernel_sizes: Sequence[int] = (1, 3, 5, 7)
    _: KW_ONLY
    mix: bool = False
    identity: float = 0.5
    smoothing: Range | None = None
    offsets: Range | Literal["auto"] | None = None
    contrast: bool | Collection[ContrastPart] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel_sizes, Sequence) or not self.kernel_sizes:
            raise ProRandConvError.about(
                "kernel_sizes", self.kernel_sizes, "a sequence of odd numbers, e.g. (1, 3, 5, 7)"
            )
        for kernel_size in self.kernel_sizes:
            checks.kernel_size("kernel_sizes", kernel_size)
        self.kernel_sizes = tuple(self.kernel_sizes)
        self.mix = bool(self.mix)
        self.identity = checks.number("identity", self.identity, low=0, high=1)

    def draw(self, x: Tensor, generator: torch.Generator | None = None) -> RandConvParams:
        """Draw the parameters for images like ``x``.

        With one draw per image, all kernels have the largest size of the pool and are zero outside
        their own.

        Args:
            x: images ``(..., C, H, W)``; their shape, dtype and device matter, not their values.
            generator: source of randomness; torch's global CPU generator by default.
        """
        sampler, count = self._start(x, generator)
        identity = sampler.uniform(0, 1) < self.identity
        picked = sampler.whole(0, len(self.kernel_sizes) - 1)
        chosen = sampler.subset(count, self.p) if self.p < 1 else None
        repeats: int | tuple[int, ...]
        if isinstance(picked, tuple):
            repeats = (1,) * count
            changed = (~identity).nonzero().squeeze(1).cpu()
            chosen = changed if chosen is None else changed[torch.isin(changed, chosen)]
            sizes = [self.kernel_sizes[i] for i in picked]
            block = self._block(sampler, x, max(self.kernel_sizes))
            block["weight"] = _trimmed(block["weight"], sizes, rescale=self.weight_std is None)
        else:
            repeats = 0 if identity else 1
            block = self._block(sampler, x, self.kernel_sizes[picked])
        mix = sampler.uniform(0, 1) if self.mix else None
        params = RandConvParams(**block, repeats=repeats, chosen=chosen, batch=count, mix=mix)
        return params.to(x.device)

    def _augmented(self, x: Tensor, params: RandConvParams) -> Tensor:
        return functional.rand_conv(x, params, **self._options, engine=self.engine)


def _bounded(contrast: Collection[ContrastPart]) -> bool:
    """Whether contrast keeps the result in range."""
    return "standardise" in contrast or "tanh" in contrast


def _trimmed(weight: Tensor, sizes: Sequence[int], *, rescale: bool) -> Tensor:
    """Set each kernel (N, C, C, K, K) to zero outside its own size; those of volumes likewise.

    ``rescale`` turns the standard deviation 1 / sqrt(K² C) into that of the own size.
    """
    largest, dims = weight.shape[-1], weight.dim() - 3
    side = over_images(torch.tensor(sizes, dtype=weight.dtype, device=weight.device), dims + 2)
    tap = (torch.arange(largest, device=weight.device) - largest // 2).abs()
    farthest = reduce(lambda one, axis: torch.maximum(one[..., None], axis), [tap] * dims)
    inside = farthest <= (side - 1) / 2
    return weight * inside * ((largest / side) ** (dims / 2) if rescale else 1)
