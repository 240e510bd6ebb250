"""AugMix (Hendrycks et al., 2020): chains of simple operations, mixed, and a consistency loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.transforms.v2 import functional as tv

from ...errors import require
from ..data import ImageFormat
from .augmenting import divergence, from_pixels, numpy_generator, to_pixels
from .contract import Method
from .learner import Augment, Learner, OneLoss, RunInfo

OPERATIONS = (
    "autocontrast",
    "equalize",
    "posterize",
    "solarize",
    "rotate",
    "shear_x",
    "shear_y",
    "translate_x",
    "translate_y",
)
"""Those of the paper: colour, contrast, brightness and sharpness would know test corruptions."""

LEVELS = 10
"""Levels are counted from 0 to this one, the strongest."""


@dataclass(frozen=True)
class AugMix(Method):
    """Each image is mixed with chains of operations on it, drawn for each image.

    The loss is the cross-entropy of the original images, and λ times the mean Kullback-Leibler
    divergence of the predictions for them and two augmented views from their average.
    """

    width: int = 3
    """how many chains are mixed"""
    depth: int = 3
    """chains have from 1 to this many operations"""
    severity: float = 3.0
    """the strongest level of an operation, of 10"""
    consistency_weight: float = 12.0
    """λ; 0: no consistency loss"""

    def __post_init__(self) -> None:
        require("width", self.width, self.width >= 1, "an integer from 1")
        require("depth", self.depth, self.depth >= 1, "an integer from 1")
        right = 0.1 <= self.severity <= LEVELS
        require("severity", self.severity, right, f"from 0.1 to {LEVELS}")

    @property
    def tasks(self) -> tuple[str, ...]:
        """Images with one class only: some of its operations move pixels."""
        return ("classification",)

    def augmentation(self, format: ImageFormat) -> Augment:
        """One view: each image blended with its mixed chains."""

        def augment(x: Tensor, generator: torch.Generator) -> Tensor:
            draw = Draw.of(len(x), self, numpy_generator(generator))
            return from_pixels(augmix(to_pixels(x, format), draw), format)

        return augment

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """Cross-entropy of the originals, and consistency of three views, in one forward pass."""
        augment = self.augmentation(info.format)

        def loss(network: nn.Module, x: Tensor, y: Tensor, generator: torch.Generator) -> Tensor:
            # Images are computed in full precision, whatever the network computes in.
            with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
                views = torch.cat([x, augment(x, generator), augment(x, generator)])
            predictions = network(views).chunk(3)
            task = F.cross_entropy(predictions[0], y)
            return task + self.consistency_weight * divergence(predictions)

        return OneLoss(network, loss)


@dataclass(frozen=True)
class Draw:
    """Everything random about one view of N images, in W chains of at most D operations."""

    operation: Tensor
    """position in :data:`OPERATIONS`, int64 ``(D, N, W)``; -1 where a chain has ended"""
    level: Tensor
    """of 10, ``(D, N, W)``"""
    sign: Tensor
    """1 or -1: which way an image is turned or moved, ``(D, N, W)``"""
    weights: Tensor
    """of the chains, ``(N, W)``, with sum 1"""
    share: Tensor
    """of the chains beside the original, ``(N,)``"""

    @classmethod
    def of(cls, count: int, method: AugMix, random: np.random.Generator) -> Draw:
        """Draw for ``count`` images."""
        shape = (method.depth, count, method.width)
        operation = random.integers(len(OPERATIONS), size=shape)
        depth = random.integers(1, method.depth + 1, size=shape[1:])
        operation[np.arange(method.depth)[:, None, None] >= depth] = -1
        return cls(
            torch.from_numpy(operation),
            torch.from_numpy(random.uniform(0.1, method.severity, shape)),
            torch.from_numpy(random.choice([-1, 1], shape)),
            torch.from_numpy(random.dirichlet([1.0] * method.width, count)).float(),
            torch.from_numpy(random.beta(1.0, 1.0, count)).float(),
        )


def augmix(pixels: Tensor, draw: Draw) -> Tensor:
    """Mix the chains, and the mixture with the original.

    Args:
        pixels: uint8 ``(N, 3, S, S)``.
        draw: for N images.

    Returns:
        Pixels from 0 to 255, float32, of the same shape.
    """
    count, width = draw.weights.shape
    chains = pixels.repeat_interleave(width, 0)
    for step in zip(draw.operation, draw.level, draw.sign, strict=True):
        operation, level, sign = (part.reshape(-1) for part in step)
        for number, name in enumerate(OPERATIONS):
            index = (operation == number).nonzero()[:, 0]
            if len(index):
                place = index.to(pixels.device)
                done = apply(name, chains[place], level[index], sign[index])
                chains = chains.index_copy(0, place, done)
    weights = draw.weights.to(pixels.device).view(count, width, 1, 1, 1)
    mixture = (chains.view(count, width, *pixels.shape[1:]) * weights).sum(1)
    share = draw.share.to(pixels.device).view(-1, 1, 1, 1)
    return (1 - share) * pixels + share * mixture


def apply(name: str, pixels: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Apply one operation to images, to each with its own strength.

    Args:
        name: one of :data:`OPERATIONS`.
        pixels: uint8 ``(N, 3, S, S)``.
        level: from 0 to 10, ``(N,)``.
        sign: 1 or -1, ``(N,)``.
    """
    if name == "autocontrast":
        return tv.autocontrast(pixels)  # type: ignore[no-any-return]
    if name == "equalize":
        return tv.equalize(pixels)  # type: ignore[no-any-return]
    part = level / LEVELS
    if name == "posterize":
        kept = 4 - (part * 4).long()
        mask = (256 - 2 ** (8 - kept)).to(pixels.device, torch.uint8)
        return pixels & mask.view(-1, 1, 1, 1)
    if name == "solarize":
        threshold = (256 - (part * 256).long()).to(pixels.device).view(-1, 1, 1, 1)
        return torch.where(pixels >= threshold, 255 - pixels, pixels)
    return _moved(pixels, _sources(name, part, sign, pixels.shape[-1]))


def _sources(name: str, part: Tensor, sign: Tensor, side: int) -> Tensor:
    """Where each point of the result comes from, as affine maps ``(N, 2, 3)`` of pixels."""
    maps = torch.eye(2, 3, dtype=torch.float64).repeat(len(part), 1, 1)
    if name == "rotate":
        angle = torch.deg2rad((part * 30).long() * sign.double())
        cos, sin = angle.cos(), angle.sin()
        maps[:, 0, 0], maps[:, 0, 1], maps[:, 1, 0], maps[:, 1, 1] = cos, -sin, sin, cos
        centre = torch.full((2,), side / 2, dtype=torch.float64)
        maps[:, :, 2] = centre - maps[:, :, :2] @ centre
    elif name in ("shear_x", "shear_y"):
        row = "xy".index(name[-1])
        maps[:, row, 1 - row] = part * 0.3 * sign
    else:
        maps[:, "xy".index(name[-1]), 2] = ((part * side / 3).long() * sign).double()
    return maps.float()


def _moved(pixels: Tensor, sources: Tensor) -> Tensor:
    """Each image with its points taken from elsewhere; black where that is outside."""
    side = pixels.shape[-1]
    centres = torch.arange(side, device=pixels.device) + 0.5
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    points = torch.stack([x, y, torch.ones_like(x)], -1)
    found = torch.einsum("hwk,nik->nhwi", points, sources.to(pixels.device))
    inside = ((found >= 0) & (found < side)).all(-1)[:, None]
    moved = F.grid_sample(
        pixels.float(), found / side * 2 - 1, padding_mode="border", align_corners=False
    )
    return (moved * inside).round().to(torch.uint8)
