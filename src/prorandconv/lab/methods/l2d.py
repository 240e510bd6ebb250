"""L2D (Wang et al., ICCV 2021): an augmenter that makes the features of views less alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from ...errors import require
from ..data import ImageFormat
from ..data.samples import Batch
from ..models import classifier, last_linear
from .augmenting import normalised
from .contract import Classifying, NonNegative, Positive
from .learner import Learner, Losses, MakeOptimiser, RunInfo
from .losses import supervised_contrast

SPREAD = 0.2
"""Share of its deviation by which an embedding is drawn around its mean."""

Layer = tuple[Tensor, Tensor]
"""Weight and bias of a convolution."""


class Form(NamedTuple):
    """What the augmenter is like for images of some size."""

    kernels: tuple[int, ...]
    dropout: float
    shift: float
    """deviation of the learnt shifts at first"""
    share: float
    """of the augmented image, the rest being the original"""


FORMS = {"small": Form((3, 5), 0.5, 0.01, 1.0), "large": Form((5, 9, 13, 17), 0.2, 0.1, 0.6)}


@dataclass(frozen=True)
class L2D(Classifying):
    """Images are joined by views from random convolutions, whose learnt scales fight the network.

    A layer before the classifier gives a mean and a variance, from which the embedding is drawn
    (the mean in evaluation). Round 1, the network: CE of both - α₂ · the log-likelihood that one
    view's distribution gives the other's embedding + α₁ · supervised contrast. Round 2, the
    augmenter: the discrepancy (MMD) of embeddings by class + β · an upper bound (CLUB) of the
    information that views share; its convolutions are fixed there.

    As in the authors' code the weights of the branches, drawn from N(0, 1), are divided by their
    sum. Classes that are absent from a mini-batch are left out of the discrepancy (there they give
    NaN), and the learnt level of noise, at most a hundredth, is left out. The code has no form for
    small images: the one here is that of StyDeSty (Liu et al., ICML 2024).
    """

    label: ClassVar[str] = "L2D"
    contrast: NonNegative = 1.0
    """α₁, weight of the supervised contrast"""
    likelihood: NonNegative = 1.0
    """α₂, weight of the likelihood"""
    information: NonNegative = 0.1
    """β, weight of the bound in the augmenter's loss"""
    temperature: Positive = 0.07
    """τ of the contrast"""
    augmenter_rate: Positive = 0.005
    """learning rate of the augmenter's SGD"""
    form: Literal["auto", "small", "large"] = "auto"
    """of the augmenter; auto: small below 64 pixels"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pacs": {"optimiser": "nesterov", "learning_rate": 2e-3, "schedule": "step", "epochs": 50}
    }

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network with a bottleneck, and the augmenter."""
        return Diversifying(network, self, info)


class Diversifying(Learner):
    """A network with a bottleneck before its classifier, and the augmenter."""

    def __init__(self, network: nn.Module, method: L2D, info: RunInfo) -> None:
        super().__init__(network)
        self.place = classifier(network)
        network.set_submodule(self.place, Bottleneck(last_linear(network)))
        self.method, self.info = method, info
        size = info.format.image_size
        usual = "small" if size < 64 else "large"
        form = FORMS[usual if method.form == "auto" else method.form]
        least = max(form.kernels)
        require("image_size", size, size >= least, f"at least {least} pixels, its largest kernel")
        self.augmenter = Augmenter(form, size)

    def optimisers(self, make: MakeOptimiser) -> dict[str, Optimizer]:
        """Of the network and of the augmenter."""
        learnt = [one for one in self.augmenter.parameters() if one.requires_grad]
        group = {"params": learnt, "constant": True}
        return {
            "network": make(self.network.parameters()),
            "augmenter": SGD([group], lr=self.method.augmenter_rate),
        }

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Round 1 makes views alike for the network, round 2 makes them differ."""
        x, y, own = batch.images, batch.labels, self.method
        with torch.no_grad():
            images = torch.cat([self.augmenter(x, self.info.format, generator), x])
        logits, mean, log_variance, drawn = self._embedded(images, generator)
        new, old = drawn.chunk(2)
        task = F.cross_entropy(logits, y.repeat(2))
        likely = log_likelihood(mean.chunk(2)[1], log_variance.chunk(2)[1], new)
        alike = supervised_contrast(torch.stack([old, new]), y, own.temperature)
        yield {"network": task - own.likelihood * likely + own.contrast * alike}
        images = torch.cat([self.augmenter(x, self.info.format), x])
        logits, mean, log_variance, drawn = self._embedded(images, generator)
        new, old = drawn.chunk(2)
        order = torch.randperm(len(x), generator=generator).to(x.device)
        shared = club(mean.chunk(2)[1], log_variance.chunk(2)[1], new, order)
        apart = conditional_discrepancy(new, old, y, self.info.classes)
        yield {"augmenter": apart + own.information * shared}

    def _embedded(self, images: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Logits, means, logarithms of variances, and embeddings."""
        bottleneck = cast(Bottleneck, self.network.get_submodule(self.place))
        bottleneck.generator = generator
        try:
            logits = self.network(images)
            return logits, *bottleneck.drawn
        finally:
            bottleneck.generator, bottleneck.drawn = None, ()


class Bottleneck(nn.Module):
    """Features to a mean and a variance, from which the input of the classifier is drawn."""

    def __init__(self, head: nn.Linear) -> None:
        super().__init__()
        width = head.in_features
        self.mean = nn.Sequential(nn.Linear(width, width), nn.LeakyReLU())
        self.log_variance = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.head = head
        self.generator: torch.Generator | None = None
        """where embeddings are drawn from; None: they are their means"""
        self.drawn: tuple[Tensor, ...] = ()
        """means, logarithms of variances and embeddings of the last call"""

    def forward(self, x: Tensor) -> Tensor:
        """Features ``(N, D)`` to logits ``(N, K)``."""
        mean = embedding = self.mean(x)
        if self.generator is not None:
            log_variance = self.log_variance(x)
            noise = torch.randn(mean.shape, generator=self.generator).to(mean)
            embedding = mean + SPREAD * (log_variance / 2).exp() * noise
            self.drawn = mean, log_variance, embedding
        logits: Tensor = self.head(embedding)
        return logits


class Augmenter(nn.Module):
    """Random convolutions with learnt scales and shifts at each place of their maps."""

    def __init__(self, form: Form, image_size: int) -> None:
        super().__init__()
        self.form = form
        sides = [image_size - k + 1 for k in form.kernels]
        normal = torch.nn.init.normal_
        self.scales = nn.ParameterList(normal(torch.empty(3, s, s), 1, 0.1) for s in sides)
        self.shifts = nn.ParameterList(normal(torch.empty(3, s, s), 0, form.shift) for s in sides)
        layers = [one for layer in self._layers(None) for one in layer]
        self.fixed = nn.ParameterList(nn.Parameter(one, requires_grad=False) for one in layers)

    def _layers(self, generator: torch.Generator | None) -> list[Layer]:
        """PyTorch's usual first weights: of the 1×1 convolution, then two for each kernel."""
        sides = [1, *(k for k in self.form.kernels for _ in range(2))]
        bounds = [(3 * k * k) ** -0.5 for k in sides]

        def uniform(bound: float, *shape: int) -> Tensor:
            return (torch.rand(shape, generator=generator) * 2 - 1) * bound

        return [
            (uniform(bound, 3, 3, k, k), uniform(bound, 3))
            for k, bound in zip(sides, bounds, strict=True)
        ]

    def forward(
        self, x: Tensor, format: ImageFormat, generator: torch.Generator | None = None
    ) -> Tensor:
        """Views of normalised images; without a generator by the fixed convolutions."""
        branches = 1 + len(self.form.kernels)
        if generator is None:
            fixed = list(self.fixed)
            layers = list(zip(fixed[::2], fixed[1::2], strict=True))
            weights, kept = torch.ones(branches), torch.ones(())
        else:
            layers = [(w.to(x.device), b.to(x.device)) for w, b in self._layers(generator)]
            weights = torch.randn(branches, generator=generator)
            kept = (torch.rand(x.shape, generator=generator) >= self.form.dropout).float()
            kept /= 1 - self.form.dropout
        pairs = [layers[i : i + 2] for i in range(1, len(layers), 2)]
        maps = list(self.scales), list(self.shifts)
        # In full precision, whatever the network computes in.
        with torch.autocast(x.device.type, enabled=False):
            made = augmented(x, layers[0], pairs, *maps, weights.to(x.device), kept.to(x.device))
        return self.form.share * normalised(made, format) + (1 - self.form.share) * x


def augmented(
    x: Tensor,
    colour: Layer,
    kernels: Sequence[Sequence[Layer]],
    scales: Sequence[Tensor],
    shifts: Sequence[Tensor],
    weights: Tensor,
    kept: Tensor | float = 1.0,
) -> Tensor:
    """A weighted mean of branches, as pixels from 0 to 1.

    Args:
        x: images ``(N, 3, S, S)``.
        colour: the 1×1 convolution of the first branch.
        kernels: of the other branches, a convolution and a transposed one each.
        scales: of the maps between both, ``(3, S', S')``.
        shifts: likewise.
        weights: of the branches; they are divided by their sum.
        kept: factor of the first branch before tanh, for dropout.
    """
    total = weights[0] * torch.tanh(kept * F.conv2d(x, *colour))
    for (down, up), scale, shift, weight in zip(kernels, scales, shifts, weights[1:], strict=True):
        inner = scale * F.instance_norm(F.conv2d(x, *down)) + shift
        total = total + weight * torch.tanh(F.conv_transpose2d(inner, *up))
    return torch.sigmoid(total / weights.sum())


def log_likelihood(mean: Tensor, log_variance: Tensor, drawn: Tensor) -> Tensor:
    """Mean of -(μ - z)² / σ² - log σ²; all are ``(N, D)``."""
    return (-((mean - drawn) ** 2) / log_variance.exp() - log_variance).mean()


def club(mean: Tensor, log_variance: Tensor, drawn: Tensor, order: Tensor) -> Tensor:
    """An upper bound of the information that views share (Cheng et al., 2020).

    All are ``(N, D)`` but ``order``, ``(N,)``: another image for each, as the negative.
    """
    nearer = (mean - drawn[order]) ** 2 - (mean - drawn) ** 2
    return (nearer / log_variance.exp()).sum(1).mean() / 2


def conditional_discrepancy(a: Tensor, b: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Squared maximum mean discrepancy of two views within classes, over the number of classes.

    The kernel is the sum of five RBF kernels, of 1/4 to 4 times the mean squared distance in a
    class. Embeddings are ``(N, D)``, labels ``(N,)``; classes that are absent count 0.
    """
    total = a.new_zeros(())
    for one in range(classes):
        chosen = labels == one
        if not chosen.any():
            continue
        points = torch.cat([a[chosen], b[chosen]])
        apart = (points[:, None] - points).square().sum(2)
        half, count = len(points) // 2, len(points)
        # Equal points have no distance to divide by.
        width = (apart.detach().sum() / (count**2 - count)).clamp_min(1e-12)
        kernels = torch.stack([(-apart / (width / 4 * 2**k)).exp() for k in range(5)]).sum(0)
        same = kernels[:half, :half] + kernels[half:, half:]
        total = total + (same - kernels[:half, half:] - kernels[half:, :half]).mean()
    return total / classes
