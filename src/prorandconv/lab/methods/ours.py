"""The paper's versions for segmentation (Table 6): half of each mini-batch is augmented.

Beyond the paper, two versions whose labels move with the image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...functional import ContrastPart
from ...selection import Strategy
from ..options import OffsetsRange, RangeOrNone
from .pro_randconv import ProRandConvMethod


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


@dataclass(frozen=True)
class OursC(OursD):
    """Without deformable offsets, which move what the labels do not follow."""

    offsets: OffsetsRange = None
    """range of σ_Δ, the deviation of offsets in pixels; auto: by image size; None: no offsets"""


@dataclass(frozen=True)
class OursB(OursC):
    """Without offsets and without smoothing."""

    smoothing: RangeOrNone = None
    """range of σ_g, the width of the Gaussian filter on the kernel; None: no filter"""


@dataclass(frozen=True)
class OursA(OursB):
    """Progressive only: without offsets, smoothing and contrast diversification."""

    contrast: bool | tuple[ContrastPart, ...] = False
    """contrast diversification: all, none, or some of standardise, affine, tanh"""


@dataclass(frozen=True)
class OursMove(OursD):
    """All of it, and labels that move with the image."""

    labels: Literal["fixed", "move"] = "move"
    """whether the labels of pixels stay where they are (the paper), or move with the image"""


@dataclass(frozen=True)
class OursShared(OursMove):
    """All taps share their offsets: where the labels move is exact."""

    shared_offsets: bool = True
    """one field of offsets for all taps of the kernel, which bends the image as a whole"""
