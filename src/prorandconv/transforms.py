"""ProRandConv and RandConv: how a draw is made, and the call that torchvision expects."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal, overload

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten
from torchvision import tv_tensors
from torchvision.transforms import v2

from . import checks, functional
from .caching import is_recorded, outside_inference_mode
from .checks import MOST_REPEATS, Range
from .draw import Draw, Options
from .errors import ProRandConvError
from .fields import Field, draw_field
from .functional import compute_dtype, gaussian_window
from .labels import LABELS, LabelWarp, check_marked
from .ops import ENGINES, MODULES, Engine
from .options import BOUNDS, CONTRAST_PARTS, OUTPUTS, PADDINGS, Bound, ContrastPart, Output, Padding

DRAWING_VERSION = 2
"""Raised whenever the same seed gives other draws than before: results tell them apart by it."""
EPS = 1e-2
"""The paper's "small value": lower end of σ_g and σ_Δ."""
Mode = Literal["batch", "sample"]
_range_was_checked: list[bool] = []
"""Not empty once the first batch of this process was looked at."""


class Sampler:
    """Where random numbers come from, and how many draws are made with them.

    They are made on the generator's device, by default the CPU, whatever device the images are on:
    the same seed gives the same draw everywhere, and the number of repetitions is known without a
    synchronisation.
    """

    def __init__(
        self,
        count: int | None,
        generator: torch.Generator | None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Make one draw if ``count`` is None, else ``count`` draws, one an image."""
        self.prefix = () if count is None else (count,)
        self.generator, self.dtype = generator, dtype
        self.device = torch.device("cpu") if generator is None else generator.device

    def uniform(self, low: float, high: float) -> Tensor:
        """One number U(low, high) per draw."""
        number = torch.empty(self.prefix, dtype=self.dtype, device=self.device)
        return number.uniform_(low, high, generator=self.generator)

    def normal(self, *shape: int, std: float = 1.0) -> Tensor:
        """Numbers N(0, std²) of the given shape per draw."""
        numbers = torch.empty(*self.prefix, *shape, dtype=self.dtype, device=self.device)
        return numbers.normal_(0.0, std, generator=self.generator)

    def integer(self, low: int, high: int) -> int | tuple[int, ...]:
        """One integer from low to high, both included, per draw."""
        numbers = torch.randint(
            low, high + 1, self.prefix, generator=self.generator, device=self.device
        ).tolist()
        return tuple(numbers) if isinstance(numbers, list) else int(numbers)

    def subset(self, count: int, share: float) -> Tensor:
        """Positions of a share of ``count`` images, on the CPU.

        share * count is rounded up or down at random, so that each image has probability ``share``
        also in small batches.
        """
        source: dict[str, Any] = {"generator": self.generator, "device": self.device}
        size = int(share * count + float(torch.rand((), **source)))
        return torch.randperm(count, **source)[:size].sort().values.cpu()


def _choice(*known: object) -> Callable[[str, Any], Any]:
    return partial(checks.one_of, known=known)


def _or(other: object, check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: value if value is other or value == other else check(name, value)


def _number_or_interval(name: str, value: Any) -> Any:
    return (checks.interval if isinstance(value, Sequence) else checks.number)(name, value)


_count = partial(checks.integer, low=1, high=MOST_REPEATS)
_share = partial(checks.number, low=0.0, high=1.0)
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "kernel_size": checks.kernel_size,
    "kernel_sizes": checks.kernel_sizes,
    "max_repeats": _count,
    "repeats": _or(None, _count),
    "weights": _choice("same", "different"),
    "identity": _share,
    "smoothing": _or(None, partial(checks.interval, above_zero=True)),
    "offsets": _or(None, _or("auto", checks.interval)),
    "shared_offsets": _choice(False, True),
    "alpha": checks.number,
    "contrast": lambda name, value: checks.subset(name, value, CONTRAST_PARTS),
    "gamma_std": checks.number,
    "beta_std": checks.number,
    "weight_std": _or(None, _number_or_interval),
    "padding": _choice(*PADDINGS),
    "bound": _choice("auto", *BOUNDS, None),
    "output": _choice("auto", *OUTPUTS),
    "mean": checks.normalisation,
    "std": checks.normalisation,
    "mode": _choice("batch", "sample"),
    "p": _share,
    "mix": _choice(False, True),
    "labels": _choice("fixed", "warp"),
    "ignore_index": partial(checks.integer, low=None),
    "max_channels": checks.integer,
    "engine": _choice(*ENGINES),
    "spatial_dims": _choice(2, 3),
}
"""How each option is checked, when a transform is made and when it is set later."""


@dataclass(eq=False, repr=False, kw_only=True)
class DrawTransform(v2.Transform, ABC):  # type: ignore[misc]
    """A transform all of whose randomness is one :class:`Draw`, and the call that applies it.

    Augments float images ``(..., C, H, W)``, or volumes ``(..., C, D, H, W)``: plain tensors and
    ``tv_tensors.Image`` or ``Video``. With several inputs, as in ``v2.Compose``, the images are
    augmented with one draw; masks, boxes and key points stay as they are or warp with them
    (``labels``; of volumes, masks only); anything else passes through.
    Beside other plain tensors of image shape, images must be marked as ``tv_tensors.Image``. A
    ``Video`` counts as one image: its frames share one draw. Runs without gradients, computes in
    float32 or float64, returns the input's dtype in new memory.
    """

    mode: Mode = "batch"
    p: float = 1.0
    mix: bool = False
    labels: Literal["fixed", "warp"] = "fixed"
    ignore_index: int = 255
    max_channels: int = 16
    engine: Engine = "auto"
    spatial_dims: Literal[2, 3] = 2

    def __post_init__(self) -> None:
        super().__init__()
        self._check_together()

    def __setattr__(self, name: str, value: Any) -> None:
        """Check an option, alone and with the others."""
        if name not in CHECKS:
            super().__setattr__(name, value)
            return
        before = self.__dict__.get(name)
        self.__dict__[name] = CHECKS[name](name, checks.to_python(value))
        if "_options" in self.__dict__:
            try:
                self._check_together()
            except ProRandConvError:
                self.__dict__[name] = before
                raise

    def _check_together(self) -> None:
        """Check what depends on several options, and keep those of applying a draw."""
        volumes = ("auto", "native", "eager", "reference")
        if self.spatial_dims == 3 and self.engine not in volumes:
            raise ProRandConvError.about(
                "engine", self.engine, f"one of {volumes} for volumes, spatial_dims=3"
            )
        status = "available" if self.engine == "auto" else MODULES[self.engine].status()
        if not status.startswith("available"):
            raise ProRandConvError.about("engine", self.engine, f"'auto' or 'eager': {status}")
        self.__dict__["_options"] = self._make_options()

    @abstractmethod
    def _make_options(self) -> Options:
        """How draws are applied."""

    @abstractmethod
    def _draw(self, sampler: Sampler, channels: int, size: tuple[int, ...], count: int) -> Draw:
        """Draw for ``count`` images of this size."""

    def draw(self, x: Tensor, generator: torch.Generator | None = None) -> Draw:
        """Draw for images like ``x``.

        Args:
            x: images ``(..., C, H, W)``; their shape, dtype and device matter, not their values.
            generator: source of randomness; torch's global CPU generator by default.
        """
        checks.images(x, self.max_channels, self.spatial_dims)
        own = self.spatial_dims + (2 if isinstance(x, tv_tensors.Video) else 1)
        channels, *sides = x.shape[-self.spatial_dims - 1 :]
        count = math.prod(x.shape[:-own])
        with outside_inference_mode():
            many = count if self.mode == "sample" else None
            sampler = Sampler(many, generator, compute_dtype(x))
            draw = self._draw(sampler, channels, tuple(sides), count)
            return draw if sampler.device == x.device else draw.to(x.device)

    if TYPE_CHECKING:

        @overload
        def __call__(
            self, x: Tensor, /, *, draw: Draw | None = ..., generator: torch.Generator | None = ...
        ) -> Tensor: ...
        @overload
        def __call__(
            self, *inputs: Any, draw: Draw | None = ..., generator: torch.Generator | None = ...
        ) -> Any: ...
        def __call__(self, *inputs: Any, **source: Any) -> Any:
            """What :meth:`forward` does, and what type it returns."""

    def forward(
        self, *inputs: Any, draw: Draw | None = None, generator: torch.Generator | None = None
    ) -> Any:
        """Augment with a fresh draw, or with ``draw``.

        Args:
            inputs: images ``(..., C, H, W)``, alone or in any nesting with other things.
            draw: a draw to replay, as it was made: of this transform or another one, or a file.
            generator: source of a fresh draw; torch's global CPU generator by default.
        """
        if draw is not None:
            self._check_draw(draw, generator)
        sample = inputs[0] if len(inputs) == 1 else inputs
        if type(sample) is Tensor:  # taking apart takes as long as a repetition
            return self._augmented(sample, draw or self.draw(sample, generator))
        leaves, structure = tree_flatten(sample)
        self.check_inputs(leaves)
        params = self.make_params(leaves, draw, generator)
        found = checks.find_images(leaves, self.spatial_dims)
        warps = LABELS if self.labels == "warp" else ()
        results = [
            self.transform(leaf, params) if n in found or isinstance(leaf, warps) else leaf
            for n, leaf in enumerate(leaves)
        ]
        return tree_unflatten(results, structure)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error for inputs that would be silently ignored, or are not certain."""
        checks.find_images(flat_inputs, self.spatial_dims)
        videos = (leaf for leaf in flat_inputs if isinstance(leaf, tv_tensors.Video))
        if self.spatial_dims == 3 and (video := next(videos, None)) is not None:
            raise ProRandConvError.about(
                "x", f"a Video of shape {tuple(video.shape)}", "volumes, or spatial_dims=2"
            )
        if self.labels == "warp":
            check_marked(flat_inputs, self.spatial_dims)

    def make_params(
        self,
        flat_inputs: list[Any],
        draw: Draw | None = None,
        generator: torch.Generator | None = None,
    ) -> dict[str, Any]:
        """The draw that all images of a call share, and how the labels beside them warp."""
        found = checks.find_images(flat_inputs, self.spatial_dims)
        image = flat_inputs[found[0]] if found else None
        if draw is None and image is not None:
            draw = self.draw(image, generator)
        if draw is None and self.labels == "warp":
            names = [type(leaf).__name__ for leaf in flat_inputs if isinstance(leaf, LABELS)]
            raise ProRandConvError.about("x", names, "images beside them, or a draw to replay")
        warp = None
        if draw is not None and self.labels == "warp":
            size = None if image is None else tuple(image.shape[-self.spatial_dims :])
            warp = LabelWarp(draw, size, self.ignore_index)
        return {"draw": draw, "warp": warp}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Augment one of the inputs if it is an image, warp it if it is a label."""
        if isinstance(inpt, LABELS):
            with torch.no_grad():
                return params["warp"](inpt)
        if not isinstance(inpt, tv_tensors.TVTensor):
            return self._augmented(inpt, params["draw"])
        draw, plain = params["draw"], inpt.as_subclass(Tensor)
        if isinstance(inpt, tv_tensors.Video):
            draw, plain = self._of_frames(draw, plain), plain
        if isinstance(draw, list):
            videos = plain.reshape(len(draw), *plain.shape[-4:])
            results = [self._augmented(*each) for each in zip(videos, draw, strict=True)]
            augmented = torch.stack(results).view(plain.shape) if draw else plain.clone()
        else:
            augmented = self._augmented(plain, draw)
        return tv_tensors.wrap(augmented, like=inpt)

    def _augmented(self, x: Tensor, draw: Draw) -> Tensor:
        if not _range_was_checked:
            self._check_range(x)
        with torch.no_grad():
            return functional.apply(x, draw, self.engine)

    def _of_frames(self, draw: Draw, videos: Tensor) -> Draw | list[Draw]:
        """The draw for all frames of videos ``(..., T, C, H, W)``, or one for each video."""
        frames, count = videos.shape[-4], math.prod(videos.shape[:-4])
        if draw.per_image and draw.num_draws != count:
            raise ProRandConvError.about(
                "draw", f"draws for {draw.num_draws} images", f"one for each of {count} videos"
            )
        if draw.per_image:
            return [draw[n] for n in range(count)]
        if draw.selected is None or draw.batch_size is None:
            return draw
        selected = draw.selected[:, None] * frames + torch.arange(frames, device="cpu")
        return replace(draw, selected=selected.flatten(), batch_size=draw.batch_size * frames)

    def _check_draw(self, draw: object, generator: torch.Generator | None) -> None:
        if not isinstance(draw, Draw):
            raise ProRandConvError.about(
                "draw", type(draw).__name__, "a Draw, made with draw(x) or Draw.load(path)"
            )
        if generator is not None:
            raise ProRandConvError.about("generator", generator, "None beside a draw")
        if draw.spatial_dims != self.spatial_dims:
            raise ProRandConvError.about(
                "draw",
                f"a draw for spatial_dims={draw.spatial_dims}",
                f"one for spatial_dims={self.spatial_dims}, made with draw(x)",
            )

    def _check_range(self, x: Tensor) -> None:
        """Warn once a process where the first batch is not in the range that options expect.

        Only where that costs no synchronisation, and values can be read.
        """
        if is_recorded() or type(x) is not Tensor or x.device.type != "cpu" or not x.numel():
            return
        _range_was_checked.append(True)
        options: Options = self._options
        if (options.mean, options.std) != ((0.5,), (0.5,)) or options.output != "tanh":
            return
        low, high = map(float, x.detach().aminmax())
        if "tanh" not in options.contrast or not (low < -1.0 or high > 1.0 or low >= 0.0):
            return
        way = "mean=0.0, std=1.0" if low >= 0 and high <= 1 else "mean=... and std=..."
        warnings.warn(
            f"{type(self).__name__}: the images' values are from {low:.3g} to {high:.3g}, and "
            f"augmented ones are in [-1, 1]. Pass {way} of the images' normalisation to have both "
            "in one range",
            stacklevel=6,
        )

    def extra_repr(self) -> str:
        """The options as the constructor takes them: a transform's ``repr`` makes it again."""
        names = [field.name for field in sorted(fields(self), key=lambda f: f.kw_only is True)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


@dataclass(eq=False, repr=False, kw_only=True)
class RandomBlock(DrawTransform):
    """How the random block of both transforms is drawn."""

    smoothing: Range | None = (EPS, 1.0)
    offsets: Range | Literal["auto"] | None = "auto"
    shared_offsets: bool = False
    alpha: float = 10.0
    contrast: bool | Collection[ContrastPart] = True
    gamma_std: float = 0.5
    beta_std: float = 0.5
    weight_std: float | Range | None = None
    padding: Padding = "zeros"

    def _make_options(self) -> Options:
        assert isinstance(self.contrast, tuple)
        return Options(contrast=self.contrast, padding=self.padding)

    def _block(
        self,
        sampler: Sampler,
        kernel_size: int,
        channels: int,
        size: tuple[int, ...],
        layers: int | None = None,
    ) -> dict[str, Any]:
        """Draw the block's tensors; ``layers`` counts kernels that differ."""
        prefix, dims, options = sampler.prefix, len(size), self._options
        shape = (channels, channels, *(kernel_size,) * dims)
        shape = shape if layers is None else (layers, *shape)
        each: tuple[Any, ...] = (..., *(None,) * len(shape))
        if isinstance(self.weight_std, tuple):
            weight = sampler.normal(*shape).mul_(sampler.uniform(*self.weight_std)[each])
        else:
            std = self.weight_std
            std = (kernel_size**dims * max(channels, 1)) ** -0.5 if std is None else std
            weight = sampler.normal(*shape, std=std)
        if self.smoothing is not None:
            window = gaussian_window(
                kernel_size, sampler.uniform(*self.smoothing), spatial_dims=dims
            )
            kernel = window.shape[len(prefix) :]
            weight.mul_(window.view(*prefix, *(1,) * (len(shape) - dims), *kernel))
        offsets: Tensor | Field | None = None
        if self.offsets is not None:
            scale = offset_range(*size) if self.offsets == "auto" else self.offsets
            offsets = self._draw_offsets(sampler, kernel_size**dims, size, scale)
        gamma = beta = None
        if "affine" in options.contrast:
            gamma = sampler.normal(channels, std=self.gamma_std)
            beta = sampler.normal(channels, std=self.beta_std)
        drawn = {"weight": weight, "offsets": offsets, "gamma": gamma, "beta": beta}
        return drawn | {"size": size, "options": options, "transform": type(self).__name__}

    def _draw_offsets(
        self, sampler: Sampler, taps: int, size: tuple[int, ...], scale: Range
    ) -> Field | Tensor:
        """2k² smooth fields (dy, dx per tap) with one σ_Δ from the range; 3k³ for volumes.

        They are independent, or those of one tap for all of them (``shared_offsets``).
        """
        sigma, dims = sampler.uniform(*scale), len(size)
        if 0 in size:
            return sampler.normal(dims * taps, *size)
        drawn = dims if self.shared_offsets else dims * taps
        field = draw_field((*sampler.prefix, drawn), size, self.alpha, sigma, sampler.generator)
        return field.repeated(taps) if self.shared_offsets else field


@dataclass(eq=False, repr=False)
class ProRandConv(RandomBlock):
    """Progressive Random Convolutions: one random block, applied L times with the same parameters.

    The block is a deformable k×k convolution, standardisation per image and channel, a random
    affine and tanh; L is drawn from 1 to ``max_repeats``. One draw per call is shared by all images
    of the batch (``mode="batch"``, the paper), or each image, or ``tv_tensors.Video``, has its own
    (``mode="sample"``).

    Options are in the paper's order: repetitions and kernel; smoothing and offsets; contrast; the
    range of the result; the batch; labels; and what is technical.

    Args:
        kernel_size: side k of the kernel, odd.
        max_repeats: L_max.
        repeats: a fixed L instead of a random one.
        weights: ``"same"`` weights in all repetitions, or ``"different"`` ones (the paper's
            Progressive (Diff)); everything else of the block is always the same.
        weight_std: σ_w; None is 1 / sqrt(k² C), for volumes 1 / sqrt(k³ C); a range ``(low, high)``
            is drawn from uniformly.
        padding: border mode, ``"zeros"``, ``"reflect"`` or ``"replicate"``.

        smoothing: range of σ_g, the width of the Gaussian filter on the kernel; None for no filter.
        offsets: range of σ_Δ, the standard deviation of the deformable offsets in pixels; None for
            a plain convolution. ``"auto"`` follows the image size, see
            :func:`prorandconv.transforms.offset_range`.
        shared_offsets: whether all taps have the same offsets: the image is then bent as a whole,
            instead of each tap by itself (the paper).
        alpha: exponent of the offsets' power spectrum.

        contrast: contrast diversification: True, False, or those of ``"standardise"``,
            ``"affine"``, ``"tanh"`` that shall happen.
        gamma_std: σ_γ of the affine's scale.
        beta_std: σ_β of the affine's shift.

        mean: of the normalisation that the images went through, a number or one per channel; the
            default, with ``std``, means pixels in [-1, 1]. Used by ``"clamp"`` and ``"pixels"``.
        std: likewise.
        output: ``"tanh"`` feeds [-1, 1] to the network as it is; ``"pixels"`` maps it to the range
            of normalised pixels. ``"auto"`` is ``"pixels"`` where the block ends in tanh.
        bound: what keeps the result in range where neither standardisation nor tanh does:
            ``"clamp"`` to the range of normalised pixels, ``"standardise"``, or None. ``"auto"`` is
            ``"clamp"`` there and None otherwise.

        mode: ``"batch"`` or ``"sample"``.
        p: share of the images that are augmented.
        mix: whether the result is blended with the original by a random share U(0, 1), one for the
            batch, or with ``mode="sample"`` one for each image.

        labels: whether masks, boxes and key points beside the images stay (``"fixed"``, the paper)
            or ``"warp"`` with them; see ``docs/segmentation.md``.
        ignore_index: label in warped masks of what comes from outside of the image.

        max_channels: more channels than these raise an error: pictures whose channels come last,
            and volumes, would be taken for images of many channels.
        engine: ``"auto"``, or an engine by name; see :mod:`prorandconv.ops`.
        spatial_dims: 2 for images, 3 for volumes ``(..., C, D, H, W)``; see ``docs/volumes.md``.

    Example:
        >>> augment = ProRandConv()
        >>> x = torch.rand(8, 3, 32, 32) * 2 - 1
        >>> draw = augment.draw(x)
        >>> torch.equal(augment(x, draw=draw), augment(x, draw=draw))
        True
    """

    kernel_size: int = 3
    max_repeats: int = 10
    _: KW_ONLY
    repeats: int | None = None
    weights: Literal["same", "different"] = "same"
    bound: Bound | Literal["auto"] | None = "auto"
    output: Output | Literal["auto"] = "auto"
    mean: float | Sequence[float] = 0.5
    std: float | Sequence[float] = 0.5

    def _make_options(self) -> Options:
        assert isinstance(self.contrast, tuple)
        bound, output = self.bound, self.output
        if bound == "auto":
            bound = None if {"standardise", "tanh"} & set(self.contrast) else "clamp"
        if output == "auto":
            is_default = self.mean == self.std == (0.5,)
            output = "pixels" if "tanh" in self.contrast and not is_default else "tanh"
        assert isinstance(self.mean, tuple)
        assert isinstance(self.std, tuple)
        return replace(
            super()._make_options(), bound=bound, output=output, mean=self.mean, std=self.std
        )

    def _draw(self, sampler: Sampler, channels: int, size: tuple[int, ...], count: int) -> Draw:
        repeats: int | tuple[int, ...]
        if self.repeats is None:
            repeats = sampler.integer(1, self.max_repeats)
        else:
            repeats = self.repeats if self.mode == "batch" else (self.repeats,) * count
        layers = (self.repeats or self.max_repeats) if self.weights == "different" else None
        block = self._block(sampler, self.kernel_size, channels, size, layers)
        selected = sampler.subset(count, self.p) if self.p < 1 else None
        mix = sampler.uniform(0, 1) if self.mix else None
        return Draw(**block, repeats=repeats, selected=selected, batch_size=count, mix=mix)


@dataclass(eq=False, repr=False)
class RandConv(RandomBlock):
    """Random convolution (Xu et al., 2021): one k×k convolution of a random size, or none.

    The parts of Pro-RandConv's block can be switched on for the paper's single-layer ablations.
    ``shared_offsets``, ``alpha``, ``gamma_std``, ``beta_std``, ``weight_std``, ``padding``,
    ``mode``, ``p``, ``mix``, ``labels``, ``ignore_index``, ``max_channels``, ``engine`` and
    ``spatial_dims`` are those of :class:`ProRandConv`.

    Args:
        kernel_sizes: pool from which k is drawn, odd numbers.
        identity: probability that a draw leaves the images as they are.
        smoothing: range of σ_g, the width of a Gaussian filter on the kernel; None for no filter.
        offsets: range of σ_Δ of deformable offsets, ``"auto"``, or None for a plain convolution.
        contrast: contrast diversification after the convolution: True, False or some of its parts.

    Example:
        >>> augment = RandConv(identity=0.0)
        >>> augment(torch.randn(4, 3, 32, 32)).shape
        torch.Size([4, 3, 32, 32])
    """

    kernel_sizes: Sequence[int] = (1, 3, 5, 7)
    _: KW_ONLY
    identity: float = 0.5
    smoothing: Range | None = None
    offsets: Range | Literal["auto"] | None = None
    contrast: bool | Collection[ContrastPart] = False

    def _draw(self, sampler: Sampler, channels: int, size: tuple[int, ...], count: int) -> Draw:
        # With one draw per image, all kernels have the largest size of the pool and are zero
        # outside their own.
        identity = sampler.uniform(0, 1) < self.identity
        picked = sampler.integer(0, len(self.kernel_sizes) - 1)
        selected = sampler.subset(count, self.p) if self.p < 1 else None
        repeats: int | tuple[int, ...]
        if isinstance(picked, tuple):
            repeats = tuple((~identity).int().tolist())
            sizes = [self.kernel_sizes[i] for i in picked]
            block = self._block(sampler, max(self.kernel_sizes), channels, size)
            block["weight"] = _trimmed(block["weight"], sizes, rescale=self.weight_std is None)
        else:
            repeats = 0 if identity else 1
            block = self._block(sampler, self.kernel_sizes[picked], channels, size)
        mix = sampler.uniform(0, 1) if self.mix else None
        return Draw(**block, repeats=repeats, selected=selected, batch_size=count, mix=mix)


def _trimmed(weight: Tensor, sizes: Sequence[int], *, rescale: bool) -> Tensor:
    """Set each kernel (N, C, C, K, K) to zero outside its own size; those of volumes likewise.

    ``rescale`` turns the standard deviation 1 / sqrt(K² C) into that of the own size.
    """
    largest, dims = weight.shape[-1], weight.dim() - 3
    side = torch.tensor(sizes, dtype=weight.dtype, device=weight.device)
    side = side.view(-1, *(1,) * (dims + 2))
    tap = (torch.arange(largest, device=weight.device) - largest // 2).abs()
    farthest = reduce(lambda one, axis: torch.maximum(one[..., None], axis), [tap] * dims)
    inside = farthest <= (side - 1) / 2
    return weight * inside * ((largest / side) ** (dims / 2) if rescale else 1)


def offset_range(*size: int) -> Range:
    """Range of σ_Δ for images of this size: the paper's two values, and between them.

    The paper takes b_Δ = 0.2 pixels for 32-pixel digits and 0.5 for 224-pixel photos, "because the
    deformation scale is affected by the size of the image". Up to 64 pixels (of the shortest side)
    b_Δ is 0.2, from 224 on 0.5, and between them linear in the logarithm of the size.

    Example:
        >>> offset_range(32, 32), offset_range(224, 300)
        ((0.01, 0.2), (0.01, 0.5))
    """
    small, large = (64, 0.2), (224, 0.5)
    side = min(max(min(size), small[0]), large[0])
    fraction = math.log(side / small[0]) / math.log(large[0] / small[0])
    return (EPS, small[1] + fraction * (large[1] - small[1]))
