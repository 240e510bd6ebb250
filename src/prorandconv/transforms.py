"""RandConv and ProRandConv: thin classes that draw, and hand the draw to ``functional``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar

import PIL.Image
import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2._utils import is_pure_tensor
from typing_extensions import Unpack

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


class BlockOptions(TypedDict, total=False):
    """Options of the block that both transforms take with the same defaults."""

    alpha: float
    gamma_std: float
    beta_std: float
    weight_std: float | Range | None
    padding: Padding
    mode: Mode
    p: float
    engine: Engine


class RandomBlockTransform(Generic[P], v2.Transform):  # type: ignore[misc]
    """What both transforms share: the block's options, and the call.

    Augments float images ``(..., C, H, W)``: plain tensors and ``tv_tensors.Image`` or ``Video``.
    With several inputs, as in ``v2.Compose``, the images are augmented with one draw (of plain
    tensors the first one, unless there are tv_tensors); masks, boxes, labels and anything else pass
    through. Runs without gradients, computes in float32 or float64, returns the input's dtype.
    """

    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video)

    def __init__(
        self,
        *,
        smoothing: Range | None,
        offsets: Range | Literal["auto"] | None,
        contrast: bool | Collection[ContrastPart],
        alpha: float = 10.0,
        gamma_std: float = 0.5,
        beta_std: float = 0.5,
        weight_std: float | Range | None = None,
        padding: Padding = "zeros",
        mode: Mode = "batch",
        p: float = 1.0,
        engine: Engine = "auto",
    ) -> None:
        super().__init__()
        self.smoothing = (
            None if smoothing is None else checks.interval("smoothing", smoothing, above_zero=True)
        )
        self.offsets: Range | Literal["auto"] | None
        self.offsets = offsets if offsets in (None, "auto") else checks.interval("offsets", offsets)
        self.alpha = checks.number("alpha", alpha, low=0)
        self.gamma_std = checks.number("gamma_std", gamma_std, low=0)
        self.beta_std = checks.number("beta_std", beta_std, low=0)
        self.contrast = checks.choice("contrast", contrast, CONTRAST_PARTS)
        self.weight_std: float | Range | None
        if weight_std is None or isinstance(weight_std, int | float):
            self.weight_std = weight_std and checks.number("weight_std", weight_std, low=0)
        else:
            self.weight_std = checks.interval("weight_std", weight_std)
        self.padding: Padding = checks.one_of("padding", padding, PADDINGS)
        self.mode: Mode = checks.one_of("mode", mode, ("batch", "sample"))
        self.p = checks.number("p", p, low=0, high=1)
        self.engine: Engine = checks.one_of("engine", engine, ENGINES)
        if engine == "native" and native.UNAVAILABLE is not None:
            raise ProRandConvError.about(
                "engine", engine, f"'auto' or 'eager': {native.UNAVAILABLE}"
            )

    @abstractmethod
    def draw(self, x: Tensor, generator: torch.Generator | None = None) -> P:
        """Draw the parameters for images like ``x`` (their shape, dtype and device matter)."""

    @abstractmethod
    def apply(self, x: Tensor, params: P) -> Tensor:
        """Apply a draw to images."""

    def forward(self, *inputs: Any, params: P | None = None) -> Any:
        """Augment with a fresh draw, or with ``params``.

        Args:
            inputs: images ``(..., C, H, W)``, alone or in any nesting with other things.
            params: a draw to replay; also accepted as the last positional argument.
        """
        if params is None and len(inputs) > 1 and isinstance(inputs[-1], BlockParams):
            *rest, params = inputs
            inputs = tuple(rest)
        leaves, structure = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        images = [
            leaf
            for leaf, augmented in zip(leaves, self._needs_transform_list(leaves), strict=True)
            if augmented
        ]
        self.check_inputs(leaves)
        if not images:
            return tree_unflatten(leaves, structure)
        if params is None:
            params = self.draw(images[0])
        with torch.no_grad(), torch.autocast(images[0].device.type, enabled=False):
            done = {id(image): self._augmented(image, params) for image in images}
        return tree_unflatten([done.get(id(leaf), leaf) for leaf in leaves], structure)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse PIL images, which would otherwise pass through unseen."""
        for leaf in flat_inputs:
            if isinstance(leaf, PIL.Image.Image):
                raise ProRandConvError.about(
                    "x",
                    type(leaf).__name__,
                    "a tensor; put v2.ToImage(), v2.ToDtype(torch.float32, scale=True) and "
                    "v2.Normalize(...) before this transform",
                )

    def _augmented(self, image: Tensor, params: P) -> Tensor:
        if not isinstance(image, tv_tensors.TVTensor):
            return self.apply(image, params)
        result = self.apply(image.as_subclass(Tensor), params)
        return tv_tensors.wrap(result, like=image)  # type: ignore[no-any-return]

    def _start(self, x: Tensor, generator: torch.Generator | None) -> tuple[Sampler, int]:
        """How to draw for ``x``, and how many images it holds."""
        checks.images(x)
        count = math.prod(x.shape[:-3])
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
        if "affine" in self.contrast:
            gamma = sampler.normal(channels, std=self.gamma_std)
            beta = sampler.normal(channels, std=self.beta_std)
        return {"weight": weight, "offsets": offsets, "gamma": gamma, "beta": beta}

    def extra_repr(self) -> str:
        """The options, as the constructor takes them, and which engine serves float32 on a CPU."""
        names = [name for name in vars(self) if not name.startswith("_") and name != "training"]
        options = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        if self.engine == "auto":
            serving = "eager" if native.UNAVAILABLE is not None else "native"
            options = options.replace("engine='auto'", f"engine='auto' ({serving} on the CPU)")
        return options


class ProRandConv(RandomBlockTransform[ProRandConvParams]):
    """Progressive Random Convolutions: one random block, applied L times with the same parameters.

    The block is a deformable k×k convolution, standardisation per image and channel, a random
    affine and tanh; L is drawn from 1 to ``max_repeats``. One draw per call is shared by all images
    of the batch (``mode="batch"``, the paper), or each image has its own (``mode="sample"``).

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
        engine: ``"auto"``, or an engine by name; see :mod:`prorandconv.ops`.

    Example:
        >>> augment = ProRandConv()
        >>> x = torch.rand(8, 3, 32, 32) * 2 - 1
        >>> params = augment.draw(x)
        >>> torch.equal(augment(x, params=params), augment(x, params=params))
        True
    """

    def __init__(
        self,
        kernel_size: int = 3,
        max_repeats: int = 10,
        *,
        repeats: int | None = None,
        weights: Literal["same", "different"] = "same",
        smoothing: Range | None = (EPS, 1.0),
        offsets: Range | Literal["auto"] | None = "auto",
        alpha: float = 10.0,
        gamma_std: float = 0.5,
        beta_std: float = 0.5,
        contrast: bool | Collection[ContrastPart] = True,
        weight_std: float | Range | None = None,
        padding: Padding = "zeros",
        bound: Literal["auto", "clamp", "standardise"] | None = "auto",
        output: Literal["tanh", "pixels"] = "tanh",
        mean: float | Sequence[float] = 0.5,
        std: float | Sequence[float] = 0.5,
        mode: Mode = "batch",
        p: float = 1.0,
        engine: Engine = "auto",
    ) -> None:
        super().__init__(
            smoothing=smoothing,
            offsets=offsets,
            alpha=alpha,
            gamma_std=gamma_std,
            beta_std=beta_std,
            contrast=contrast,
            weight_std=weight_std,
            padding=padding,
            mode=mode,
            p=p,
            engine=engine,
        )
        checks.kernel_size("kernel_size", kernel_size)
        self.kernel_size = kernel_size
        self.max_repeats = checks.whole_number("max_repeats", max_repeats)
        self.repeats = None if repeats is None else checks.whole_number("repeats", repeats)
        self.weights = checks.one_of("weights", weights, ("same", "different"))
        bounded = "standardise" in self.contrast or "tanh" in self.contrast
        bound = checks.one_of("bound", bound, ("auto", "clamp", "standardise", None))
        if bounded and bound not in ("auto", None):
            raise ProRandConvError.about(
                "bound",
                bound,
                "None where contrast standardises or ends in tanh, or contrast=False",
            )
        self.bound = ("clamp" if not bounded else None) if bound == "auto" else bound
        self.output = checks.one_of("output", output, ("tanh", "pixels"))
        if output == "pixels" and "tanh" not in self.contrast:
            raise ProRandConvError.about(
                "output", output, '"tanh" (the result as it is), as this contrast has no tanh'
            )
        self.mean, self.std = checks.normalisation(mean, std)

    def draw(self, x: Tensor, generator: torch.Generator | None = None) -> ProRandConvParams:
        """Draw the parameters for images like ``x``.

        Args:
            x: images ``(..., C, H, W)``; their shape, dtype and device matter, not their values.
            generator: source of randomness; torch's global CPU generator by default.
        """
        sampler, count = self._start(x, generator)
        if self.repeats is None:
            repeats = sampler.whole(1, self.max_repeats)
        else:
            repeats = sampler.whole(self.repeats, self.repeats)
        layered = self.weights == "different"
        layers = (self.repeats or self.max_repeats) if layered else None
        block = self._block(sampler, x, self.kernel_size, layers)
        chosen = sampler.subset(count, self.p) if self.p < 1 else None
        params = ProRandConvParams(
            **block, repeats=repeats, chosen=chosen, batch=count, layered=layered
        )
        return params.to(x.device)

    def apply(self, x: Tensor, params: ProRandConvParams) -> Tensor:
        """Apply a draw to images ``(..., C, H, W)``."""
        return functional.pro_rand_conv(
            x,
            params,
            contrast=self.contrast,
            padding=self.padding,
            bound=self.bound,
            output=self.output,
            mean=self.mean,
            std=self.std,
            engine=self.engine,
        )


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
        options: ``alpha``, ``gamma_std``, ``beta_std``, ``weight_std``, ``padding``, ``mode``,
            ``p`` and ``engine`` as in :class:`ProRandConv`.

    Example:
        >>> augment = RandConv(identity=0.0)
        >>> augment(torch.randn(4, 3, 32, 32)).shape
        torch.Size([4, 3, 32, 32])
    """

    def __init__(
        self,
        kernel_sizes: Sequence[int] = (1, 3, 5, 7),
        *,
        mix: bool = False,
        identity: float = 0.5,
        smoothing: Range | None = None,
        offsets: Range | Literal["auto"] | None = None,
        contrast: bool | Collection[ContrastPart] = False,
        **options: Unpack[BlockOptions],
    ) -> None:
        super().__init__(smoothing=smoothing, offsets=offsets, contrast=contrast, **options)
        if not isinstance(kernel_sizes, Sequence) or not kernel_sizes:
            raise ProRandConvError.about(
                "kernel_sizes", kernel_sizes, "a sequence of odd numbers, e.g. (1, 3, 5, 7)"
            )
        for kernel_size in kernel_sizes:
            checks.kernel_size("kernel_sizes", kernel_size)
        self.kernel_sizes = tuple(kernel_sizes)
        self.mix = bool(mix)
        self.identity = checks.number("identity", identity, low=0, high=1)

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

    def apply(self, x: Tensor, params: RandConvParams) -> Tensor:
        """Apply a draw to images ``(..., C, H, W)``."""
        return functional.rand_conv(
            x, params, contrast=self.contrast, padding=self.padding, engine=self.engine
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
