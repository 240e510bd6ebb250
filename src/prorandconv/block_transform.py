"""What RandConv and ProRandConv share: the options of the random block, and the call."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import torch
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2.functional import is_pure_tensor

from . import checks
from .annotations import LABELS, Motion, check_marked
from .checks import Range
from .errors import ProRandConvError
from .ops import ENGINES, Engine, unavailable
from .options import CONTRAST_PARTS, PADDINGS, STANDARDISE_EPS, ContrastPart, Padding
from .params import BlockParams
from .repetition import compute_dtype
from .sampler import Sampler

EPS = 1e-2
"""The paper's "small value": lower end of σ_g and σ_Δ."""

P = TypeVar("P", bound=BlockParams)
Mode = Literal["batch", "sample"]
_FOR_VOLUMES: tuple[Engine, ...] = ("auto", "eager", "reference")


@dataclass(frozen=True)
class _Source:
    """Where the parameters of one call come from; travels beside its images."""

    params: BlockParams | None
    generator: torch.Generator | None


@dataclass(eq=False, repr=False, kw_only=True)
class RandomBlockTransform(Generic[P], v2.Transform):  # type: ignore[misc]
    """What both transforms share: the block's options, and the call.

    Augments float images ``(..., C, H, W)``, or volumes ``(..., C, D, H, W)``: plain tensors and
    ``tv_tensors.Image`` or ``Video``. With several inputs, as in ``v2.Compose``, the images are
    augmented with one draw; masks, boxes and key points stay as they are or move with them
    (``labels``; of volumes, masks only); anything else passes through.
    Beside other plain tensors of image shape, images must be marked as ``tv_tensors.Image``. A
    ``Video`` counts as one image: its frames share one draw. Runs without gradients, computes in
    float32 or float64, returns the input's dtype.
    """

    smoothing: Range | None = (EPS, 1.0)
    offsets: Range | Literal["auto"] | None = "auto"
    shared_offsets: bool = False
    alpha: float = 10.0
    contrast: bool | Collection[ContrastPart] = True
    gamma_std: float = 0.5
    beta_std: float = 0.5
    weight_std: float | Range | None = None
    padding: Padding = "zeros"
    mode: Mode = "batch"
    p: float = 1.0
    labels: Literal["fixed", "move"] = "fixed"
    ignore_index: int = 255
    max_channels: int = 16
    engine: Engine = "auto"
    spatial_dims: Literal[2, 3] = 2

    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video, *LABELS, _Source)

    def __post_init__(self) -> None:
        super().__init__()
        for field in fields(self):
            setattr(self, field.name, checks.plain(getattr(self, field.name)))
        if self.smoothing is not None:
            self.smoothing = checks.interval("smoothing", self.smoothing, above_zero=True)
        if self.offsets is not None and self.offsets != "auto":
            self.offsets = checks.interval("offsets", self.offsets)
        checks.one_of("shared_offsets", self.shared_offsets, (False, True))
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
        checks.one_of("labels", self.labels, ("fixed", "move"))
        if type(self.ignore_index) is not int:
            raise ProRandConvError.about("ignore_index", self.ignore_index, "a whole number")
        checks.whole_number("max_channels", self.max_channels)
        checks.one_of("spatial_dims", self.spatial_dims, (2, 3))
        checks.one_of("engine", self.engine, ENGINES)
        if self.spatial_dims == 3 and self.engine not in _FOR_VOLUMES:
            raise ProRandConvError.about(
                "engine", self.engine, f"one of {_FOR_VOLUMES} for volumes, spatial_dims=3"
            )
        if (reason := unavailable(self.engine)) is not None:
            raise ProRandConvError.about("engine", self.engine, f"'auto' or 'eager': {reason}")

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
        sample, source = inputs[0] if len(inputs) == 1 else inputs, _Source(params, generator)
        if type(sample) is Tensor:  # nothing to take apart, and that takes as long as a repetition
            self.check_inputs([sample, source])
            return self.transform(sample, self.make_params([sample, source]))
        result, _ = super().forward(sample, source)
        return result

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse inputs that would pass through unseen, or where the image is not certain."""
        checks.sample(flat_inputs[:-1])
        videos = (leaf for leaf in flat_inputs if isinstance(leaf, tv_tensors.Video))
        if self.spatial_dims == 3 and (video := next(videos, None)) is not None:
            raise ProRandConvError.about(
                "x", f"a Video of shape {tuple(video.shape)}", "volumes, or spatial_dims=2"
            )
        if self.labels == "move":
            check_marked(flat_inputs[:-1], self.spatial_dims)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The draw that all images of a call share, and how the labels beside them move."""
        *inputs, source = flat_inputs
        image = next((inpt for inpt in inputs if not isinstance(inpt, LABELS)), None)
        params, moving = source.params, self.labels == "move"
        if params is None and image is not None:
            params = self.draw(image, source.generator)
        if isinstance(params, BlockParams) and params.spatial_dims != self.spatial_dims:
            raise ProRandConvError.about(
                "params",
                f"a draw for spatial_dims={params.spatial_dims}",
                f"one for spatial_dims={self.spatial_dims}, made with draw(x)",
            )
        if params is None and inputs and moving:
            names = [type(inpt).__name__ for inpt in inputs]
            raise ProRandConvError.about("x", names, "images beside them, or params to replay")
        if not isinstance(params, BlockParams) or not moving:
            return {"params": params, "motion": None}
        size = None if image is None else tuple(image.shape[-params.spatial_dims :])
        return {"params": params, "motion": Motion(params, size, self.padding, self.ignore_index)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Augment one of the inputs if it is an image, move it if it is a label that moves."""
        draw, motion = params["params"], params["motion"]
        if isinstance(inpt, _Source) or (isinstance(inpt, LABELS) and motion is None):
            return inpt
        device = inpt.device.type
        autocast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
        with torch.no_grad(), torch.autocast(device, enabled=False) if autocast else nullcontext():
            if isinstance(inpt, LABELS):
                return motion.move(inpt)
            if not isinstance(inpt, tv_tensors.TVTensor):
                return self._augmented(inpt, draw)
            augmented = (
                self._augmented_videos if isinstance(inpt, tv_tensors.Video) else self._augmented
            )
            return tv_tensors.wrap(augmented(inpt.as_subclass(Tensor), draw), like=inpt)

    def _augmented_videos(self, x: Tensor, params: P) -> Tensor:
        """Videos ``(..., T, C, H, W)``, each of which counts as one image, under a draw."""
        if not isinstance(params, BlockParams):
            return self._augmented(x, params)  # refuses them by name
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
        checks.images(x, self.max_channels, self.spatial_dims)
        own = self.spatial_dims + (2 if isinstance(x, tv_tensors.Video) else 1)
        count = math.prod(x.shape[:-own])
        return Sampler(count if self.mode == "sample" else None, generator, compute_dtype(x)), count

    def _block(
        self, sampler: Sampler, x: Tensor, kernel_size: int, layers: int | None = None
    ) -> dict[str, Any]:
        """Draw the block's tensors; with them, what the draw is for."""
        channels, *sides = x.shape[-self.spatial_dims - 1 :]
        size = tuple(sides)
        weight = sampler.weight(
            kernel_size,
            channels,
            spatial_dims=self.spatial_dims,
            layers=layers,
            std=self.weight_std,
            smoothing=self.smoothing,
        )
        offsets = gamma = beta = None
        if self.offsets is not None:
            scale = offset_range(*size) if self.offsets == "auto" else self.offsets
            offsets = sampler.offsets(kernel_size, size, scale, self.alpha, self.shared_offsets)
        options = self._options
        if "affine" in options["contrast"]:
            gamma = sampler.normal(channels, std=self.gamma_std)
            beta = sampler.normal(channels, std=self.beta_std)
        drawn = {"weight": weight, "offsets": offsets, "gamma": gamma, "beta": beta}
        return drawn | {"size": size, "options": options}

    @property
    def _options(self) -> dict[str, Any]:
        """What the function that applies a draw takes beside it, but for the engine."""
        return {"contrast": self._parts, "eps": STANDARDISE_EPS, "padding": self.padding}

    @property
    def _parts(self) -> tuple[ContrastPart, ...]:
        return checks.choice("contrast", self.contrast, CONTRAST_PARTS)

    def extra_repr(self) -> str:
        """The options as the constructor takes them: a transform's ``repr`` makes it again."""
        names = [field.name for field in sorted(fields(self), key=lambda f: f.kw_only is True)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


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
    way = math.log(side / small[0]) / math.log(large[0] / small[0])
    return (EPS, small[1] + way * (large[1] - small[1]))
