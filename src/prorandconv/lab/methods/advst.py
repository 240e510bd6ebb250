"""AdvST (Zheng et al., AAAI 2024): adversarial parameters of chains of standard operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torchvision.transforms.v2 import functional as tv

from ..data import Samples
from ..data.samples import Batch
from ..models import features, last_linear
from .ada import objective
from .ascent import Growing, Make
from .augmenting import normalised
from .contract import Classifying, Count, NonNegative, Positive, Style
from .learner import Learner, Losses, MakeOptimiser, RunInfo
from .losses import entropy, supervised_contrast

HOLES, HOLE = 8, 16
"""Squares that are cut out, and their side in pixels, whatever the images' size."""
LONGEST = 3
"""Operations in a chain, at most."""
TURNING_POINT = 0.1
"""An ascent ends when its objective changes by no more than this."""
PROJECTION, TEMPERATURE = 128, 0.07

Change = tuple[str, Tensor, Tensor | None]
"""An operation by name, its parameters ``(N, k)``, and what else of it is random."""


@dataclass(frozen=True)
class AdvST(Classifying):
    """Learns from the source, and from images that chains of operations have made hard.

    For each mini-batch of the source a chain of one to three operations is drawn, and parameters
    for each image. They ascend by RMSprop on CE - γ · distance of features (Eq. 6). The newest
    generations of images and the source are learnt from by CE + β · supervised contrast of
    projected features - η · entropy (Eq. 9); the next generation follows when all of them might
    have been seen once. In the authors' code an epoch goes over all of them, in stored order, and
    the ring overwrites the source too: here an epoch has as many steps as one of the source, whose
    images stay, and draws from all. Images are clamped to [0, 1] after each operation
    as in their code for PACS, and kept with 8 bits; the bits of an image stay for the ascent. Their
    names "last" and "validation" are the best epoch on test images and images trained on.
    """

    kept: Count = 5
    """generations of changed images that are kept"""
    ascent_steps: Count = 20
    """largest number of steps of the parameters"""
    step_size: Positive = 0.2
    """their learning rate"""
    gamma: NonNegative = 100.0
    """γ, weight of the distance of features in the ascent"""
    ascent_entropy: NonNegative = 0.0
    """weight of the entropy in the ascent; above 0: AdvST-ME"""
    contrast: NonNegative = 1.0
    """β, weight of the supervised contrast"""
    eta: NonNegative = 10.0
    """η, weight of the entropy that is kept high"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "digits": {
            "optimiser": "adam",
            "learning_rate": 1e-4,
            "batch_size": 32,
            "schedule": "constant",
            "epochs": 285,  # 50 over up to 6 sets; there the rate is divided by 10 in the middle
        },
        "pacs": {
            "optimiser": "nesterov",
            "learning_rate": 1e-3,
            "weight_decay": 5e-5,
            "batch_size": 32,
            "epochs": 107,  # 50 of 100 steps, on Photo; there with frozen batch normalisation
            "options": {
                "kept": 3,
                "ascent_steps": 50,
                "step_size": 5.0,
                "gamma": 10.0,
                "ascent_entropy": 10.0,
                "eta": 0.01,
            },
        },
    }

    @property
    def style(self) -> Style:
        """Its label."""
        return Style("AdvST")

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network, a layer that projects its features, and the changed images."""
        return AdversarialChains(network, self, info)


class AdversarialChains(Growing):
    """A network, a projection of its features, and a memory of changed images."""

    def __init__(self, network: nn.Module, method: AdvST, info: RunInfo) -> None:
        super().__init__(network, info, info.epochs, kept=method.kept)
        self.method = method
        self.projection = nn.Linear(last_linear(network).in_features, PROJECTION)

    def optimisers(self, make: MakeOptimiser) -> dict[str, Optimizer]:
        """One for the network and the projection."""
        return {"network": make([*self.network.parameters(), *self.projection.parameters()])}

    def growing(self, epoch: int) -> bool:
        """Whether as many epochs are over as there are sets."""
        return epoch >= int(self.grown) + self.sets

    def maker(
        self, source: Samples, generator: torch.Generator, check_stop: Callable[[], None]
    ) -> Make:
        """Chains of operations whose parameters ascend."""
        own = self.method

        def network(pixels: Tensor) -> tuple[Tensor, Tensor]:
            return features(self.network, normalised(pixels, self.info.format))

        def make(pixels: Tensor, labels: Tensor) -> Tensor:
            chain = draw_chain(len(pixels), pixels.shape[-1], generator)
            chain = ascended(
                pixels,
                labels,
                network,
                [_moved(change, pixels.device) for change in chain],
                gamma=own.gamma,
                eta=own.ascent_entropy,
                steps=own.ascent_steps,
                rate=own.step_size,
            )
            with torch.no_grad():
                return changed(pixels, chain)

        return make

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the loss of source and changed images."""
        own, (x, y) = self.method, self.joined(batch, generator)
        found, logits = features(self.network, x)
        parts = logits, self.projection(found), y
        yield {"network": advst_loss(*parts, own.contrast, own.eta, TEMPERATURE)}


def _moved(change: Change, device: torch.device) -> Change:
    name, parameter, noise = change
    return name, parameter.to(device), None if noise is None else noise.to(device)


def advst_loss(
    logits: Tensor,
    projections: Tensor,
    labels: Tensor,
    contrast: float,
    eta: float,
    temperature: float,
) -> Tensor:
    """CE + β · supervised contrast - η · entropy.

    Args:
        logits: ``(N, K)``.
        projections: of the features, ``(N, D)``.
        labels: ``(N,)``.
        contrast: β.
        eta: η.
        temperature: of the contrast.
    """
    pulled = supervised_contrast(projections[None], labels, temperature)
    return F.cross_entropy(logits, labels) + contrast * pulled - eta * entropy(logits).mean()


def draw_chain(count: int, side: int, generator: torch.Generator) -> list[Change]:
    """Draw up to three different operations, HSV only as the first, and where they begin.

    Args:
        count: number of images.
        side: of an image in pixels.
        generator: on the CPU.
    """
    length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
    while True:
        order = torch.randperm(len(OPERATIONS), generator=generator)[:length].tolist()
        names = [list(OPERATIONS)[place] for place in order]
        if "hsv" not in names[1:]:
            break
    chain: list[Change] = []
    for name in names:
        one = OPERATIONS[name]
        share = torch.rand(count, one.parameters, generator=generator)
        noise = one.draw(count, side, generator) if one.draw else None
        chain.append((name, one.low + (one.high - one.low) * share, noise))
    return chain


def changed(x: Tensor, chain: Sequence[Change]) -> Tensor:
    """Pixels from 0 to 1 behind a chain of operations, clamped after each."""
    for name, parameter, noise in chain:
        x = OPERATIONS[name].apply(x, parameter, noise)
    return x


def ascended(
    x: Tensor,
    labels: Tensor,
    network: Callable[[Tensor], tuple[Tensor, Tensor]],
    chain: Sequence[Change],
    *,
    gamma: float,
    eta: float,
    steps: int,
    rate: float,
) -> list[Change]:
    """The chain with parameters that have moved up CE - γ · distance + η · entropy.

    Args:
        x: pixels from 0 to 1, ``(N, 3, S, S)``.
        labels: ``(N,)``.
        network: gives features and logits of pixels; it stays as it is.
        chain: at first.
        gamma: γ.
        eta: η.
        steps: largest number of steps.
        rate: learning rate.
    """
    learnt = [parameter.detach().clone().requires_grad_() for _, parameter, _ in chain]
    moved = [(name, one, noise) for (name, _, noise), one in zip(chain, learnt, strict=True)]
    with torch.no_grad():
        originals, _ = network(x)
    rmsprop = torch.optim.RMSprop(learnt, lr=rate, maximize=True)
    before = 0.0
    for _ in range(steps if any(one.numel() for one in learnt) else 0):
        with torch.enable_grad():
            found, logits = network(changed(x, moved))
            value = objective(logits, found, originals, labels, gamma, eta).mean()
        gradients = torch.autograd.grad(value, learnt, allow_unused=True)
        for one, gradient in zip(learnt, gradients, strict=True):
            one.grad = gradient
        rmsprop.step()
        if abs(value.item() - before) <= TURNING_POINT:
            break
        before = value.item()
    return [(name, one.detach(), noise) for name, one, noise in moved]


@dataclass(frozen=True)
class Operation:
    """An operation on pixels, which are clamped to [0, 1] behind it."""

    function: Callable[..., Tensor]
    """(pixels ``(N, 3, H, W)``, parameters ``(N, k)``, what ``draw`` has drawn) -> pixels"""
    low: float = 0.0
    """smallest parameter at first"""
    high: float = 0.0
    """largest parameter at first"""
    parameters: int = 1
    """k"""
    draw: Callable[[int, int, torch.Generator], Tensor] | None = None
    """(number of images, side, generator) -> what else of it is random"""

    def apply(self, x: Tensor, parameter: Tensor, noise: Tensor | None) -> Tensor:
        """The operation on pixels from 0 to 1."""
        given = (x, parameter) if noise is None else (x, parameter, noise)
        new = self.function(*given)
        # What has no parameters gives levels; rounding must not cut off its gradient.
        return new.clamp(0, 1) if self.parameters else new


def _each(parameter: Tensor) -> Tensor:
    """One number of each image, or of each of its channels, beside the pixels."""
    return parameter[:, :, None, None]


def _hsv(x: Tensor, shift: Tensor) -> Tensor:
    """Shift hue (in radians), saturation and value."""
    most, least = x.amax(1), x.amin(1)
    delta = most - least
    r, g, b = x.unbind(1)
    safe = torch.where(delta == 0, 1, delta)
    sextant = torch.where(
        (r >= g) & (r >= b),
        (g - b) / safe,
        torch.where(g >= b, (b - r) / safe + 2, (r - g) / safe + 4),
    )
    hue, saturation, value = (one[:, None, None] for one in shift.unbind(1))
    hue = sextant + hue * 3 / math.pi
    saturation, value = delta / (most + 1e-8) + saturation, most + value
    channels = []
    for offset in (5, 3, 1):
        part = (hue + offset) % 6
        share = torch.minimum(part, 4 - part).clamp(0, 1)
        channels.append(value * (1 - saturation * share))
    return torch.stack(channels, 1)


def _warped(x: Tensor, rows: Sequence[Sequence[Tensor | float]], centred: bool = True) -> Tensor:
    """Images of which each point (x, y) comes from (a x + b y + c, d x + e y + f); 0 outside.

    Args:
        x: ``(N, C, H, W)``.
        rows: of the maps in pixels, three numbers ``(N,)`` each.
        centred: whether points are counted from the centre, or from the first pixel.
    """
    height, width = x.shape[2:]
    kept = [[torch.as_tensor(v, dtype=x.dtype, device=x.device) for v in row] for row in rows]
    maps = torch.stack([torch.stack([v.expand(len(x)) for v in row], -1) for row in kept], 1)
    middle = torch.tensor([width - 1, height - 1], dtype=x.dtype, device=x.device) / 2
    origin = middle if centred else torch.zeros_like(middle)
    down, right = torch.meshgrid(
        torch.arange(height, dtype=x.dtype, device=x.device) - origin[1],
        torch.arange(width, dtype=x.dtype, device=x.device) - origin[0],
        indexing="ij",
    )
    points = torch.stack([right, down, torch.ones_like(right)], -1)
    places = torch.einsum("hwk,nik->nhwi", points, maps) + origin
    return F.grid_sample(x, places / middle - 1, align_corners=True)


def _rotated(x: Tensor, turn: Tensor) -> Tensor:
    """Turn against the clock by a share of the circle."""
    angle = 2 * math.pi * turn[:, 0].clamp(0.01, 1)
    cos, sin = angle.cos(), angle.sin()
    return _warped(x, [(cos, -sin, 0.0), (sin, cos, 0.0)])


def _translated(x: Tensor, shift: Tensor) -> Tensor:
    """Move to the right and down, by shares of a tenth of the width."""
    right, down = (-shift.clamp(-1, 1) * x.shape[3] * 0.1).unbind(1)
    return _warped(x, [(1.0, 0.0, right), (0.0, 1.0, down)])


def _sheared(x: Tensor, factors: Tensor) -> Tensor:
    """Move each point (x, y), counted from the first pixel, to (x + a y, y + b x)."""
    a, b = factors.unbind(1)
    scale = 1 / (1 - a * b)
    rows = [(scale, -a * scale, 0.0), (-b * scale, scale, 0.0)]
    return _warped(x, rows, centred=False)


def _scaled(x: Tensor, factor: Tensor) -> Tensor:
    """Enlarge or shrink about the centre."""
    by = 1 / factor[:, 0].clamp(0.5, 2)
    return _warped(x, [(by, 0.0, 0.0), (0.0, by, 0.0)])


def _sharpened(x: Tensor, factor: Tensor) -> Tensor:
    """Between smoothed (0) and original (1); the border stays."""
    kernel = torch.ones(3, 1, 3, 3, dtype=x.dtype, device=x.device)
    kernel[:, :, 1, 1] = 5
    smooth = F.conv2d(x, kernel / 13, groups=3)
    difference = F.pad(x[..., 1:-1, 1:-1] - smooth, (1, 1, 1, 1))
    return x - (1 - _each(factor.clamp(0, 1))) * difference


def _solarised(x: Tensor, shift: Tensor) -> Tensor:
    """Make brighter or darker, and invert from the middle up."""
    moved = (x + _each(shift.clamp(-0.499, 0.499))).clamp(0, 1)
    return torch.where(moved >= 0.5, 1 - moved, moved)


def _straight_through(x: Tensor, new: Tensor) -> Tensor:
    """New values with the gradient of the old ones."""
    return new + x - x.detach()


def _levels(x: Tensor) -> Tensor:
    return (x.detach() * 255).round().clamp(0, 255).to(torch.uint8)


def _equalised(x: Tensor, _: Tensor) -> Tensor:
    """Spread the levels of each channel evenly."""
    return _straight_through(x, tv.equalize(_levels(x)).to(x.dtype) / 255)


def _posterised(x: Tensor, _: Tensor, bits: Tensor) -> Tensor:
    """Keep so many of the highest of 8 bits."""
    step = 2 ** (8 - bits).view(-1, 1, 1, 1)
    return _straight_through(x, (_levels(x).long() // step * step).to(x.dtype) / 255)


def _cut_out(x: Tensor, colour: Tensor, corners: Tensor) -> Tensor:
    """Squares of one colour an image, whose upper left corners (row, column) all images share."""
    inside = torch.zeros(x.shape[2:], dtype=torch.bool, device=x.device)
    for row, column in corners.tolist():
        inside[row : row + HOLE, column : column + HOLE] = True
    return torch.where(inside, _each(colour), x)


def _draw_bits(count: int, side: int, generator: torch.Generator) -> Tensor:
    return torch.randint(0, 9, (count,), generator=generator)


def _draw_corners(count: int, side: int, generator: torch.Generator) -> Tensor:
    return torch.randint(0, max(side - HOLE, 1), (HOLES, 2), generator=generator)


OPERATIONS: Mapping[str, Operation] = {
    "hsv": Operation(_hsv, -1, 1, 3),
    "rotate": Operation(_rotated, 0.01, 1),
    "translate": Operation(_translated, -1, 1, 2),
    "invert": Operation(lambda x, most: _each(most.clamp(0.5, 1)) - x, 0.5, 1),
    "shear": Operation(_sheared, -0.3, 0.3, 2),
    "contrast": Operation(lambda x, factor: x * _each(factor.clamp(0.1, 1.9)), 0.1, 1.9),
    "sharpness": Operation(_sharpened, 0, 1),
    "solarise": Operation(_solarised, -0.5, 0.5),
    "scale": Operation(_scaled, 0.5, 2),
    "equalise": Operation(_equalised, parameters=0),
    "posterise": Operation(_posterised, parameters=0, draw=_draw_bits),
    "cutout": Operation(_cut_out, 0, 1, 3, _draw_corners),
}
"""Those of the paper, with the ranges of the authors' code."""
