"""RandConv (Xu et al., 2021): the predecessor, with its consistency loss."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import RandConv
from ...functional import ContrastPart, Padding
from ..data import ImageFormat
from ..options import OffsetsRange, OrDefault, RangeOrNone, WeightStd
from .augmenting import divergence, shared_options
from .contract import Method, Style
from .learner import Augment, Learner, OneLoss, RunInfo

VIEWS = 3


@dataclass(frozen=True)
class RandConvMethod(Method):
    """For each mini-batch, draw one random convolution; learn from the result, or the original.

    With the consistency loss, three views of the original images are drawn. The task loss is the
    cross-entropy of the first; added is λ times the mean Kullback-Leibler divergence of the three
    predictions from their average.
    """

    consistency: bool = True
    """whether predictions for three views are drawn towards their average"""
    consistency_weight: OrDefault[float] = None
    """λ (default: 5, or 10 with mixing)"""
    mix: bool = False
    """mix the result with the original by a random share; then no mini-batch stays as it is"""
    kernel_sizes: tuple[int, ...] = (1, 3, 5, 7)
    """pool from which the kernel's side k is drawn"""
    identity: float = 0.5
    """probability that a view is the original images (without mixing)"""
    smoothing: RangeOrNone = None
    """range of σ_g, the width of a Gaussian filter on the kernel; None: no filter"""
    offsets: OffsetsRange = None
    """range of σ_Δ, the deviation of deformable offsets in pixels; None: no offsets"""
    contrast: bool | tuple[ContrastPart, ...] = False
    """contrast diversification: all, none, or some of standardise, affine, tanh"""
    weight_std: WeightStd = None
    """σ_w, or its range; None: 1 / sqrt(k² C)"""
    padding: Padding = "zeros"
    """border mode: what an image is taken to be outside"""

    def augmentation(self, format: ImageFormat) -> Augment:
        """One view."""
        options = shared_options(self, RandConv)
        augment = RandConv(**options | {"identity": 0.0 if self.mix else self.identity})
        return lambda x, generator: augment(x, draw=augment.draw(x, generator))

    @property
    def style(self) -> Style:
        """Orange, of Okabe and Ito's colours."""
        return Style("RandConv", "#e69f00", "^", (0, (6, 1, 1, 1)))

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """Cross-entropy of the first view, and consistency of all."""
        augment = self.augmentation(info.format)
        own = self.consistency_weight
        weight = own if own is not None else (10.0 if self.mix else 5.0)
        views = VIEWS if self.consistency else 1

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            drawn = torch.cat([augment(x, generator) for _ in range(views)])
            predictions = network(drawn).chunk(views)
            task = F.cross_entropy(predictions[0], y)
            return task + weight * divergence(predictions) if self.consistency else task

        return OneLoss(network, loss)
