"""RandConv and ProRandConv: thin classes that draw, and hand the draw to ``functional``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import torch
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2.functional import is_pure_tensor

from . import checks, functional
from .checks import Range
from .errors import ProRandConvError
from .functional import CONTRAST_PARTS, PADDINGS, ContrastPart, Padding, compute_dtype
from .ops import ENGINES, Engine, native
from .params import BlockParams, ProRandConvParams, RandConvParams
from .sampler import Sampler

EPS = 1e-2
"""The paper's "small value": lower end of σ_g and σ_Δ."""

P = TypeVar("P", bound=BlockParams)
Mode = Literal["batch", "sample"]


@dataclass(frozen=True)
class _Source:
    """Where the parameters of one call come from; travels beside its images."""

    params: BlockParams | None
    generator: torch.Generator | None


@dataclass(eq=False, repr=False, kw_only=True)
class RandomBlockTransform(Generic[P], v2.Transform):  # type: ignore[misc]
    """What both transforms share: the block's options, and the call.

    Augments float images ``(..., C, H, W)``: plain tensors and ``tv_tensors.Image`` or ``Video``.
    With several inputs, as in ``v2.Compose``, the images are augmented with one draw; masks, boxes,
    labels and anything else pass through. Beside other plain tensors of image shape, images must be
    marked as ``tv_tensors.Image``. A ``Video`` counts as one image: its frames share one draw.
    Runs without gradients, computes in float32 or float64, returns the input's dtype.
    """

    smoothing: Range | None = (EPS, 1.0)
    offsets: Range | Literal["auto"] | None = "auto"
    alpha: float = 10.0
    contrast: bool | Collection[ContrastPart] = True
    gamma_std: float = 0.5
    beta_std: float = 0.5
    weight_std: float | Range | None = None
    padding: Padding = "zeros"
    mode: Mode = "batch"
    p: float = 1.0
    max_channels: int = 16
    engine: Engine = "auto"

    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video, _Source)

    def __post_init__(self) -> None:
        super().__init__()
        for field in fields(self):
            setattr(self, field.name, checks.plain(getattr(self, field.name)))
        if self.smoothing is not None:
            self.smoothing = checks.interval("smoothing", self.smoothing, above_zero=True)
        if self.offsets is not None and self.offsets != "auto":
            self.offsets = checks.interval("offsets", self.offsets)
        self.alpha = checks.number("alpha", self.alpha, low=0)
        self.contrast = checks.choice("contrast", self.contrast, CONTRAST_PARTS)
        self.gamma_std = checks.number("gamma_std", self.gamma_std, low=0)
        self.beta_std = checks.number("beta_std", self.beta_std, low=0)
        if isinstance(self.weight_std, Sequence):
            self.weight_std = checks.interval("weight_std", self.weight_std)
        elif self.weight_std is not None:
            self.weight_std = checks.number("weight_std", self.weight_std, low=0)
        checks.one_of("padding", self.padding, PADDINGS)
        checks.one_of("mode", self.mode, ("batch", "sample"))
        self.p = checks.number("p", self.p, low=0, high=1)
        checks.whole_number("max_channels", self.max_channels)
        checks.one_of("engine", self.engine, ENGINES)
        if self.engine == "native" and native.UNAVAILABLE is not None:
            raise ProRandConvError.about(
                "engine", self.engine, f"'auto' or 'eager': {native.UNAVAILABLE}"
            )

    @abstractmethod
    def draw(self, x: Tensor, generator: torch.Generator | None = None) -> P:
        """Draw the parameters for images like ``x`` (their shape, dtype and device matter)."""

    @abstractmethod
    def _augmented(self, x: Tensor, params: P) -> Tensor:
        """Images ``(..., C, H, W)`` under a draw."""

    if TYPE_CHECKING:

        @overload
        def __call__(
            self, x: Tensor, /, *, params: P | None = ..., generator: torch.Generator | None = ...
        ) -> Tensor: ...
        @overload
        def __call__(self, x: Tensor, params: P, /) -> Tensor: ...
        @overload
        def __call__(
            self, *inputs: Any, params: P | None = ..., generator: torch.Generator | None = ...
        ) -> Any: ...
        def __call__(self, *inputs: Any, **source: Any) -> Any:
            """What :meth:`forward` does, and what type it returns."""

    def forward(
        self,
        *inputs: Any,
        params: P | None = None,
        generator: torch.Generator | None = None,
    ) -> Any:
        """Augment with a fresh draw, or with ``params``.

        Args:
            inputs: images ``(..., C, H, W)``, alone or in any nesting with other things.
            params: a draw to replay; also accepted as the last positional argument.
            generator: source of a fresh draw; torch's global CPU generator by default.
        """
        if params is None and len(inputs) > 1 and isinstance(inputs[-1], BlockParams):
            *rest, params = inputs
            inputs = tuple(rest)
        if params is not None and generator is not None:
            raise ProRandConvError.about("generator", generator, "None: params are drawn already")
        sample = inputs[0] if len(inputs) == 1 else inputs
        result, _ = super().forward(sample, _Source(params, generator))
        return result

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse inputs that would pass through unseen, or where the image is not certain."""
        checks.sample(flat_inputs[:-1])

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The draw that all images of a call share."""
        *images, source = flat_inputs
        if source.params is not None or not images:
            return {"params": source.params}
        return {"params": self.draw(images[0], source.generator)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Augment one of the inputs, if it is an image."""
        if isinstance(inpt, _Source):
            return inpt
        device = inpt.device.type
        autocast = torch.amp.is_autocast_available(device)
        with torch.no_grad(), torch.autocast(device, enabled=False) if autocast else nullcontext():
            if not isinstance(inpt, tv_tensors.TVTensor):
                return self._augmented(inpt, **params)
            augmented = (
                self._augmented_videos if isinstance(inpt, tv_tensors.Video) else self._augmented
            )
            return tv_tensors.wrap(augmented(inpt.as_subclass(Tensor), **params), like=inpt)

    def _augmented_videos(self, x: Tensor, params: P) -> Tensor:
        """Videos ``(..., T, C, H, W)``, each of which counts as one image, under a draw."""
        frames, count = x.shape[-4], math.prod(x.shape[:-4])
        if params.per_image:
            draws = params.split()
            if len(draws) != count:
                raise ProRandConvError.about(
                    "params", f"draws for {len(draws)} images", f"one for each of {count} videos"
                )
            videos = x.reshape(count, *x.shape[-4:])
            done = [self._augmented(*each) for each in zip(videos, draws, strict=True)]
            return torch.stack(done).reshape(x.shape) if done else x
        if params.chosen is not None and params.batch is not None:
            chosen = params.chosen[:, None] * frames + torch.arange(frames)
            params = replace(params, chosen=chosen.flatten(), batch=params.batch * frames)
        return self._augmented(x, params)

    def _start(self, x: Tensor, generator: torch.Generator | None) -> tuple[Sampler, int]:
        """How to draw for ``x``, and how many images it holds."""
        checks.images(x, self.max_channels)
        count = math.prod(x.shape[: -4 if isinstance(x, tv_tensors.Video) else -3])
        return Sampler(count if self.mode == "sample" else None, generator, compute_dtype(x)), count

    def _block(
        self, sampler: Sampler, x: Tensor, kernel_size: int, layers: int | None = None
    ) -> dict[str, Any]:
        """Draw the block's tensors."""
        channels, height, width = x.shape[-3:]
        weight = sampler.weight(
            kernel_size,
            channels,
            layers=layers,
            std=self.weight_std,
            smoothing=self.smoothing,
        )
        offsets = gamma = beta = None
        if self.offsets is not None:
            scale = offset_range(height, width) if self.offsets == "auto" else self.offsets
            offsets = sampler.offsets(kernel_size, (height, width), scale, self.alpha)
        if "affine" in self._parts:
            gamma = sampler.normal(channels, std=self.gamma_std)
            beta = sampler.normal(channels, std=self.beta_std)
        return {"weight": weight, "offsets": offsets, "gamma": gamma, "beta": beta}

    @property
    def _parts(self) -> tuple[ContrastPart, ...]:
        return checks.choice("contrast", self.contrast, CONTRAST_PARTS)

    def extra_repr(self) -> str:
        """The options as the constructor takes them: a transform's ``repr`` makes it again."""
        names = [field.name for field in sorted(fields(self), key=lambda f: f.kw_only is True)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


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
            a plain convolution. ``"auto"`` follows the image size, see :func:`offset_range`.
        alpha: exponent of the offsets' power spectrum.
        gamma_std: σ_γ of the affine's scale.
        beta_std: σ_β of the affine's shift.
        contrast: contrast diversification: True, False, or those of ``"standardise"``,
            ``"affine"``, ``"tanh"`` that shall happen.
        weight_std: σ_w; None is 1 / sqrt(k² C), a range ``(low, high)`` is drawn from uniformly.
        padding: how the image goes on outside: ``"zeros"``, ``"reflect"`` or ``"replicate"``.
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
        max_channels: more channels than these are refused: pictures whose channels come last, and
            volumes, would be taken for images of many channels.
        engine: ``"auto"``, or an engine by name; see :mod:`prorandconv.ops`.

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
    bound: Literal["auto", "clamp", "standardise"] | None = "auto"
    output: Literal["tanh", "pixels"] = "tanh"
    mean: float | Sequence[float] = 0.5
    std: float | Sequence[float] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.kernel_size("kernel_size", self.kernel_size)
        checks.whole_number("max_repeats", self.max_repeats)
        if self.repeats is not None:
            checks.whole_number("repeats", self.repeats)
        checks.one_of("weights", self.weights, ("same", "different"))
        checks.one_of("bound", self.bound, ("auto", "clamp", "standardise", None))
        if self._bounded and self.bound not in ("auto", None):
            raise ProRandConvError.about(
                "bound",
                self.bound,
                "None where contrast standardises or ends in tanh, or contrast=False",
            )
        checks.one_of("output", self.output, ("tanh", "pixels"))
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
        checks.per_channel("mean", self.mean, x.shape[-3])
        checks.per_channel("std", self.std, x.shape[-3])
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
    def _bounded(self) -> bool:
        """Whether contrast keeps the result in range."""
        return "standardise" in self._parts or "tanh" in self._parts

    def _augmented(self, x: Tensor, params: ProRandConvParams) -> Tensor:
        bound = self.bound
        if bound == "auto":
            bound = None if self._bounded else "clamp"
        return functional.pro_rand_conv(
            x,
            params,
            contrast=self._parts,
            padding=self.padding,
            bound=bound,
            output=self.output,
            mean=self.mean,
            std=self.std,
            engine=self.engine,
        )


@dataclass(eq=False, repr=False)
class RandConv(RandomBlockTransform[RandConvParams]):
    """Random convolution (Xu et al., 2021): one k×k convolution of a random size, or none.

    The parts of Pro-RandConv's block can be switched on for the paper's single-layer ablations.

    Args:
        kernel_sizes: pool from which k is drawn, odd numbers.
        mix: whether the result is mixed with the original by a random share U(0, 1).
        identity: probability that a draw leaves the images as they are.
        smoothing: range of σ_g, the width of a Gaussian filter on the kernel; None for no filter.
        offsets: range of σ_Δ of deformable offsets, ``"auto"``, or None for a plain convolution.
        contrast: contrast diversification after the convolution: True, False or a choice of its
            parts.
        alpha, gamma_std, beta_std, weight_std, padding, mode, p, max_channels, engine: as in
            :class:`ProRandConv`.

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
        return functional.rand_conv(
            x, params, contrast=self._parts, padding=self.padding, engine=self.engine
        )


def offset_range(height: int, width: int) -> Range:
    """Range of σ_Δ for images of this size: the paper's two values, and between them.

    The paper takes b_Δ = 0.2 pixels for 32-pixel digits and 0.5 for 224-pixel photos, "because the
    deformation scale is affected by the size of the image". Up to 64 pixels (of the shorter side)
    b_Δ is 0.2, from 224 on 0.5, and between them linear in the logarithm of the size.

    Example:
        >>> offset_range(32, 32), offset_range(224, 300)
        ((0.01, 0.2), (0.01, 0.5))
    """
    small, large = (64, 0.2), (224, 0.5)
    side = min(max(min(height, width), small[0]), large[0])
    way = math.log(side / small[0]) / math.log(large[0] / small[0])
    return (EPS, small[1] + way * (large[1] - small[1]))


def _trimmed(weight: Tensor, sizes: Sequence[int], *, rescale: bool) -> Tensor:
    """Set each kernel (N, C, C, K, K) to zero outside its own size.

    ``rescale`` turns the standard deviation 1 / sqrt(K² C) into that of the own size.
    """
    largest = weight.shape[-1]
    side = torch.tensor(sizes, dtype=weight.dtype, device=weight.device).view(-1, 1, 1, 1, 1)
    tap = (torch.arange(largest, device=weight.device) - largest // 2).abs()
    inside = torch.maximum(tap[:, None], tap[None, :]) <= (side - 1) / 2
    return weight * inside * (largest / side if rescale else 1)
