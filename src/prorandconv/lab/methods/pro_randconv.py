"""Pro-RandConv, the paper's method (Algorithm 1), and Progressive, its plain form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ... import ProRandConv
from ...checks import Range
from ...functional import ContrastPart, Padding
from ...transforms import EPS
from ..data import ImageFormat
from .augmenting import Augmenting
from .learner import Augment


@dataclass(frozen=True)
class ProRandConvMethod(Augmenting):
    """For each mini-batch, draw one random convolution block, apply it L times, learn from both.

    The loss is the mean cross-entropy of the original images X_0 and the augmented images X_L, in
    one forward pass. Every component of the block can be switched off.
    """

    kernel_size: int = 3
    """side k of the kernel, odd"""
    max_repeats: int = 10
    """L_max: L is drawn from 1 to this number"""
    repeats: int | None = None
    """a fixed L instead"""
    weights: Literal["same", "different"] = "same"
    """the same weights in all repetitions, or different ones"""
    smoothing: Range | None = (EPS, 1.0)
    """range of σ_g, the width of the Gaussian filter on the kernel; None: no filter"""
    offsets: Range | Literal["auto"] | None = "auto"
    """range of σ_Δ, the deviation of offsets in pixels; auto: by image size; None: no offsets"""
    alpha: float = 10.0
    """exponent of the offsets' power spectrum"""
    contrast: bool | tuple[ContrastPart, ...] = True
    """contrast diversification: all, none, or some of standardise, affine, tanh"""
    gamma_std: float = 0.5
    """σ_γ of the affine's scale"""
    beta_std: float = 0.5
    """σ_β of the affine's shift"""
    weight_std: float | Range | None = None
    """σ_w, or its range; None: 1 / sqrt(k² C)"""
    padding: Padding = "zeros"
    """border mode: what an image is taken to be outside"""
    bound: Literal["auto", "clamp", "standardise"] | None = "auto"
    """what bounds the result where contrast does not"""
    output: Literal["tanh", "pixels"] = "tanh"
    """feed [-1, 1] to the network as it is, or mapped to the range of normalised pixels"""
    mode: Literal["batch", "sample"] = "batch"
    """one draw for the mini-batch, or one for each image"""

    def augmentation(self, format: ImageFormat) -> Augment:
        """The random convolution block."""
        augment = ProRandConv(
            self.kernel_size,
            self.max_repeats,
            repeats=self.repeats,
            weights=self.weights,
            smoothing=self.smoothing,
            offsets=self.offsets,
            alpha=self.alpha,
            contrast=self.contrast,
            gamma_std=self.gamma_std,
            beta_std=self.beta_std,
            weight_std=self.weight_std,
            padding=self.padding,
            bound=self.bound,
            output=self.output,
            mean=format.mean,
            std=format.std,
            mode=self.mode,
        )

        return lambda x, generator: augment(x, params=augment.draw(x, generator))


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
    repeats: int | None = None
    """a fixed L instead"""
    bound: Literal["clamp", "standardise"] | None = "clamp"
    """what keeps ten repetitions from growing without limit (None: nothing)"""
    padding: Padding = "zeros"
    """border mode: what an image is taken to be outside"""

    def augmentation(self, format: ImageFormat) -> Augment:
        """The stacked convolutions."""
        plain = ProRandConvMethod(
            kernel_size=self.kernel_size,
            max_repeats=self.max_repeats,
            repeats=self.repeats,
            weights=self.weights,
            smoothing=None,
            offsets=None,
            contrast=False,
            padding=self.padding,
            bound=self.bound,
        )
        return plain.augmentation(format)
