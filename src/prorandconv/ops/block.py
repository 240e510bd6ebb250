"""What an engine is handed: the linear part of a block, and what follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

Repeats = int | tuple[int, ...]
"""How often the block is applied: one number, or one per image."""


@dataclass(frozen=True)
class Block:
    """The deformable convolution of one draw, shared by all images and all repetitions.

    With one draw per image, each tensor has a further leading dimension of N.
    """

    weight: Tensor
    """(C_out, C_in, k, k)"""
    offsets: Tensor | None
    """(2k², H, W), (dy, dx) per tap; None is zero everywhere"""
    size: tuple[int, int]
    """height and width of the images"""
    padding: str
    """how the image goes on outside: "zeros", "reflect" or "replicate" """
    reach: float | None = None
    """an upper bound of |offsets|, if known without reading them"""

    @property
    def kernel_size(self) -> int:
        """Side of the square kernel, odd."""
        return self.weight.shape[-1]

    @property
    def per_image(self) -> bool:
        """Whether each image has a draw of its own."""
        return self.weight.dim() == 5

    def of(self, image: int) -> Block:
        """The block of one of the images that have a draw each."""
        offsets = None if self.offsets is None else self.offsets[image]
        return replace(self, weight=self.weight[image], offsets=offsets)


@dataclass(frozen=True)
class Contrast:
    """What follows the convolution; each part can be absent.

    gamma and beta are ``(C,)``, or ``(N, C)`` with one draw per image.
    """

    standardise: bool = True
    gamma: Tensor | None = None
    beta: Tensor | None = None
    tanh: bool = True
    eps: float = 1e-5

    def of(self, image: int) -> Contrast:
        """What follows for one of the images that have a draw each."""
        if self.gamma is None or self.beta is None:
            return self
        return replace(self, gamma=self.gamma[image], beta=self.beta[image])


def standardised(images: Tensor, eps: float) -> Tensor:
    """Zero mean and unit variance per image and channel (biased variance, eps in the root)."""
    mean = images.mean((-2, -1), keepdim=True)
    variance = images.var((-2, -1), correction=0, keepdim=True)
    return (images - mean) * (variance + eps).rsqrt()


def position_dtype(device: torch.device) -> torch.dtype:
    """What positions are computed in: their rounding in float32 grows with every repetition."""
    return torch.float32 if device.type == "mps" else torch.float64
