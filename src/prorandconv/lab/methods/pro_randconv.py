"""Pro-RandConv, the paper's method (Algorithm 1), and Progressive, its plain form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from typing_extensions import Self

from ... import ProRandConv
from ...errors import require
from ...functional import ContrastPart, Padding, warp_labels
from ...selection import Strategy
from ...transforms import EPS
from ..data import ImageFormat
from ..data.scenes import IGNORED
from ..options import OffsetsRange, OrDefault, RangeOrNone, WeightStd
from .augmenting import Augmenting, LabelledAugment, divergence, shared_options
from .contract import EARLIER_DEFAULT, Style
from .learner import Augment, Learner, OneLoss, RunInfo


@dataclass(frozen=True)
class ProRandConvMethod(Augmenting):
    """For each mini-batch, draw one random convolution block, apply it L times, learn from both.

    The loss is the mean cross-entropy of the original images X_0 and the augmented images X_L, in
    one forward pass. Every component of the block can be switched off. Beyond the paper, the loss
    may have a second part, λ times the Jensen-Shannon divergence of the predictions for X_0 and
    X_L, and a second X_L may be drawn.
    """

    kernel_size: int = 3
    """side k of the kernel, odd"""
    max_repeats: int = 10
    """L_max: L is drawn from 1 to this number"""
    repeats: OrDefault[int] = None
    """a fixed L instead"""
    weights: Literal["same", "different"] = "same"
    """the same weights in all repetitions, or different ones"""
    smoothing: RangeOrNone = (EPS, 1.0)
    """range of σ_g, the width of the Gaussian filter on the kernel; None: no filter"""
    offsets: OffsetsRange = "auto"
    """range of σ_Δ, the deviation of offsets in pixels; auto: by image size; None: no offsets"""
    shared_offsets: bool = False
    """one field of offsets for all taps of the kernel, which bends the image as a whole"""
    alpha: float = 10.0
    """exponent of the offsets' power spectrum"""
    contrast: bool | tuple[ContrastPart, ...] = True
    """contrast diversification: all, none, or some of standardise, affine, tanh"""
    gamma_std: float = 0.5
    """σ_γ of the affine's scale"""
    beta_std: float = 0.5
    """σ_β of the affine's shift"""
    weight_std: WeightStd = None
    """σ_w, or its range; None: 1 / sqrt(k² C)"""
    padding: Padding = "zeros"
    """border mode: what an image is taken to be outside"""
    bound: Literal["auto", "clamp", "standardise"] | None = "auto"
    """what bounds the result where contrast does not"""
    output: Literal["auto", "tanh", "pixels"] = field(
        default="auto", metadata={EARLIER_DEFAULT: "tanh"}
    )
    """tanh feeds [-1, 1], pixels the range of normalised images; auto: pixels if these differ"""
    mode: Literal["batch", "sample"] = "batch"
    """one draw for the mini-batch, or one for each image"""
    p: float = 1.0
    """share of the images that are augmented; the others stay as they are"""
    labels: Literal["fixed", "move"] = "fixed"
    """whether the labels of pixels stay where they are (the paper), or move with the image"""
    consistency: float = 0.0
    """λ, the weight of the Jensen-Shannon divergence of predictions for all views; 0: none"""
    views: int = 1
    """how many X_L are drawn of X_0, each by its own block: 1 or 2"""

    def __post_init__(self) -> None:
        right = math.isfinite(self.consistency) and self.consistency >= 0
        require("consistency", self.consistency, right, "a number from 0")
        require("views", self.views, self.views in (1, 2), "1 or 2")
        if self.uses_consistency:
            why = "to compare original and augmented images"
            require("selection", self.selection, self.selection == "both", f"both, {why}")
            require("labels", self.labels, self.labels == "fixed", f"fixed, {why}")

    @property
    def uses_consistency(self) -> bool:
        """Whether predictions for several views are compared."""
        return self.consistency > 0 or self.views > 1

    @property
    def style(self) -> Style | None:
        """Blue, of Okabe and Ito's colours."""
        return Style("Pro-RandConv", "#0072b2", "s", "-")

    @property
    def tasks(self) -> tuple[str, ...]:
        """All, unless labels of pixels are to move."""
        return ("segmentation",) if self.labels == "move" else super().tasks

    def with_auto_resolved(self, mean: Sequence[float], std: Sequence[float]) -> Self:
        """With the output that suits the images' normalisation."""
        if self.output != "auto":
            return self
        ends_in_tanh = self.contrast is True or "tanh" in (self.contrast or ())
        other_range = {*mean, *std} != {0.5}  # with these, pixels are in [-1, 1] too
        return replace(self, output="pixels" if ends_in_tanh and other_range else "tanh")

    def augmentation(self, format: ImageFormat) -> Augment:
        """The random convolution block."""
        augment = self._transform(format)
        return lambda x, generator: augment(x, draw=augment.draw(x, generator))

    def labelled_augmentation(self, format: ImageFormat) -> LabelledAugment:
        """The same block for images and, if they are to move, for the labels of their pixels."""
        if self.labels == "fixed":
            return super().labelled_augmentation(format)
        augment = self._transform(format)

        def moved(x: Tensor, y: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
            params = augment.draw(x, generator)
            return augment(x, draw=params), warp_labels(y, params, ignore_index=IGNORED)

        return moved

    def _transform(self, format: ImageFormat) -> ProRandConv:
        # Labels are moved here: batches do not mark what they are.
        own = self.with_auto_resolved(format.mean, format.std)
        options = shared_options(own, ProRandConv) | {"labels": "fixed"}
        return ProRandConv(**options, mean=format.mean, std=format.std)

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """Mean cross-entropy of all views, and their consistency, in one forward pass."""
        if not self.uses_consistency:
            return super().learner(network, info)
        augment = self.augmentation(info.format)
        count = 1 + self.views

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            # Images are computed in full precision, whatever the network computes in.
            with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
                images = torch.cat([x, *(augment(x, generator) for _ in range(self.views))])
            predictions = network(images)
            task = F.cross_entropy(predictions, y.repeat(count))
            return task + self.consistency * divergence(predictions.chunk(count))

        return OneLoss(network, loss)


@dataclass(frozen=True)
class Progressive(Augmenting):
    """A 3×3 random convolution applied L times: no smoothing, no offsets, no contrast.

    With the same weights in all repetitions it is the paper's Progressive (Same), with different
    ones its Progressive (Diff).
    """

    weights: Literal["same", "different"] = "same"
    """the same weights in all repetitions, or different ones"""
    kernel_size: int = 3
    """side k of the kernel, odd"""
    max_repeats: int = 10
    """L_max: L is drawn from 1 to this number"""
    repeats: OrDefault[int] = None
    """a fixed L instead"""
    bound: Literal["clamp", "standardise"] | None = "clamp"
    """what keeps ten repetitions from growing without limit (None: nothing)"""
    padding: Padding = "zeros"
    """border mode: what an image is taken to be outside"""

    @property
    def style(self) -> Style:
        """One for each of the paper's two variants."""
        if self.weights == "same":
            return Style("Progressive (Same)", "#b35900", "v", (0, (1, 1)))
        return Style("Progressive (Diff)", "#56b4e9", "D", (0, (3, 1, 1, 1)))

    def augmentation(self, format: ImageFormat) -> Augment:
        """The stacked convolutions."""
        options = shared_options(self, ProRandConvMethod)
        plain = ProRandConvMethod(**options, smoothing=None, offsets=None, contrast=False)
        return plain.augmentation(format)


@dataclass(frozen=True)
class OursD(ProRandConvMethod):
    """All of Pro-RandConv for half of the images of a mini-batch, chosen at random.

    The network learns from these and from the other half as it is.
    """

    p: float = 0.5
    """share of the images that are augmented; the others stay as they are"""
    selection: Strategy | float = "augmented"
    """images to learn from: augmented is the mini-batch as p has left it"""
    output: Literal["auto", "tanh", "pixels"] = "tanh"
    """tanh feeds [-1, 1], pixels the range of normalised images; auto: pixels if these differ"""

    @property
    def style(self) -> Style:
        """Its label alone."""
        return Style("Ours-D")


@dataclass(frozen=True)
class OursC(OursD):
    """Without deformable offsets, which move what the labels do not follow."""

    offsets: OffsetsRange = None
    """range of σ_Δ, the deviation of offsets in pixels; auto: by image size; None: no offsets"""

    @property
    def style(self) -> Style:
        """Its label alone."""
        return Style("Ours-C")


@dataclass(frozen=True)
class OursB(OursC):
    """Without offsets and without smoothing."""

    smoothing: RangeOrNone = None
    """range of σ_g, the width of the Gaussian filter on the kernel; None: no filter"""

    @property
    def style(self) -> Style:
        """Its label alone."""
        return Style("Ours-B")


@dataclass(frozen=True)
class OursA(OursB):
    """Progressive only: without offsets, smoothing and contrast diversification."""

    contrast: bool | tuple[ContrastPart, ...] = False
    """contrast diversification: all, none, or some of standardise, affine, tanh"""

    @property
    def style(self) -> Style:
        """Its label alone."""
        return Style("Ours-A")


@dataclass(frozen=True)
class OursMove(OursD):
    """All of it, and labels that move with the image."""

    labels: Literal["fixed", "move"] = "move"
    """whether the labels of pixels stay where they are (the paper), or move with the image"""

    @property
    def style(self) -> Style:
        """Its label alone."""
        return Style("Ours-D, labels moved")


@dataclass(frozen=True)
class OursShared(OursMove):
    """All taps share their offsets: where the labels move is exact."""

    shared_offsets: bool = True
    """one field of offsets for all taps of the kernel, which bends the image as a whole"""

    @property
    def style(self) -> Style:
        """Its label alone."""
        return Style("Ours, shared offsets")
