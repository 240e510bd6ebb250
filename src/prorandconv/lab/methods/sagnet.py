"""SagNet (Nam et al., CVPR 2021): content is learnt, and an adversary finds style."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from ...errors import ProRandConvError
from ..data.samples import Batch
from ..models import features, hooked, last_linear
from .ascent import frozen
from .contract import Classifying, NonNegative, Positive, Probability
from .learner import Learner, Losses, MakeOptimiser, RunInfo

EPS = 1e-5
POOLINGS = (nn.MaxPool2d, nn.AvgPool2d)
NORMS = (nn.BatchNorm2d, nn.GroupNorm, nn.InstanceNorm2d)


@dataclass(frozen=True)
class SagNet(Classifying):
    """Content is classified whatever the style is, and style is kept from telling the class.

    Behind a layer of the network styles are blended with those of other images (the paper's SR)
    for the network itself, and contents are exchanged (CR) for a copy of what follows, the style
    network. Three losses of one graph: CE of the network, CE of the style network, and for the
    affine weights of normalisations before that layer L_adv = λ CE(style network, uniform). As
    in the authors' code variances are blended, not deviations, and the exchanged content gets no
    gradient; their code also decays the style network's weights a second time. They give no
    network without batch normalisation: there, all weights before the layer follow the adversary.
    """

    label: ClassVar[str] = "SagNet"
    layer: str = ""
    """the layer; empty: layer2 of a ResNet, else the first pooling"""
    weight: NonNegative = 0.1
    """λ, of the adversary's loss"""
    clip: Positive = 0.1
    """largest norm of the adversary's gradient"""
    dropout: Probability = 0.5
    """of the features, before both classifiers"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pacs": {
            "learning_rate": 4e-3,
            "weight_decay": 1e-4,
            "batch_size": 96,
            "epochs": 85,  # 2,000 steps: from 54 epochs on Sketch to 128 on Photo
        }
    }

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network, and its copy for style."""
        return StyleAgnostic(network, self, info)


class StyleAgnostic(Learner):
    """A network, and a copy of its layers behind one of them."""

    def __init__(self, network: nn.Module, method: SagNet, info: RunInfo) -> None:
        super().__init__(network)
        self.method = method
        self.layer = method.layer or usual_layer(network)
        self.style = tail(network, self.layer, info.format.image_size)

    def optimisers(self, make: MakeOptimiser) -> dict[str, Optimizer]:
        """Of the network, the style network and the adversary."""
        before = [self.network.get_submodule(n) for n in layers_to(self.network, self.layer)]
        norms = [m for one in before for m in one.modules() if isinstance(m, NORMS)]
        affine = [p for one in norms or before for p in one.parameters()]
        return {
            "network": make(self.network.parameters()),
            "style": make(self.style.parameters()),
            "adversary": make([{"params": affine, "clip": self.method.clip}]),
        }

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """One round of three losses."""
        x, y, kept = batch.images, batch.labels, []
        share = torch.rand(len(x), generator=generator).to(x.device)
        first, second = (torch.randperm(len(x), generator=generator).to(x.device) for _ in range(2))

        def randomise(found: Tensor) -> Tensor:
            kept.append(found.float())  # statistics need full precision
            return style_randomised(kept[0], share, first)

        with hooked(self.network, [self.layer], randomise):
            content = self._logits(self.network, x, generator)
        style = self._logits(self.style, content_randomised(kept[0], second), generator)
        yield {
            "network": F.cross_entropy(content, y),
            "style": F.cross_entropy(style, y),
            "adversary": self.method.weight * uniform_cross_entropy(style),
        }

    def _logits(self, network: nn.Module, x: Tensor, generator: torch.Generator) -> Tensor:
        found, _ = features(network, x)
        kept = torch.rand(found.shape, generator=generator).to(x.device) >= self.method.dropout
        logits: Tensor = last_linear(network)(found * kept / (1 - self.method.dropout))
        return logits


def usual_layer(network: nn.Module) -> str:
    """The second stage of a ResNet; of another network the first pooling behind weights."""
    layers = dict(network.named_children())
    names = ["layer2"] if "layer2" in layers else list(layers)
    for name in names:
        before = [layers[one] for one in layers_to(network, name)]
        pooled = name == "layer2" or isinstance(layers[name], POOLINGS)
        if pooled and any(list(one.parameters()) for one in before):
            return name
    raise unsuitable(network, "with stages as a ResNet, or a pooling behind a convolution")


def layers_to(network: nn.Module, layer: str) -> list[str]:
    """Names of the network's layers up to one of them."""
    names = [name for name, _ in network.named_children()]
    if layer not in names:
        right = f"one of the network's layers: {', '.join(names)}"
        raise ProRandConvError.about("layer", layer, right)
    return names[: names.index(layer) + 1]


def tail(network: nn.Module, layer: str, image_size: int) -> nn.Module:
    """A copy of a network that takes what one of its layers gives.

    Args:
        network: whose layers follow each other, such as LeNet or a ResNet.
        layer: the last layer that is left out.
        image_size: side of an image in pixels, to try the copy.
    """
    copied, kept = copy.deepcopy(network), list[Tensor]()
    for name in layers_to(network, layer):
        setattr(copied, name, nn.Identity())

    def keep(found: Tensor) -> Tensor:
        kept.append(found)
        return found

    # No generator: what networks draw is not to depend on this.
    probe = torch.linspace(-1, 1, 3 * image_size**2).view(1, 3, image_size, image_size)
    probe = probe.to(next(network.parameters(), probe).device)
    with torch.no_grad(), frozen(network), frozen(copied), hooked(network, [layer], keep):
        try:
            fits = torch.allclose(network(probe), copied(kept[0]), atol=1e-4)
        except (RuntimeError, TypeError):  # shapes or arguments that do not fit
            fits = False
    if not fits:
        raise unsuitable(network, "whose layers follow each other, as of lenet and the ResNets")
    return copied


def unsuitable(network: nn.Module, right: str) -> ProRandConvError:
    """The error for a network that SagNet cannot divide."""
    name = type(network).__name__
    return ProRandConvError.about("network", name, f"for sagnet a network {right}")


def style_randomised(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
    """Each image's features with a blend of its mean and variance and another image's.

    Features are ``(N, C, H, W)``; ``share`` is α, of the image itself, and ``order`` the others.
    """
    (variance, mean), own = torch.var_mean(x, (2, 3), keepdim=True), share.view(-1, 1, 1, 1)
    plain = (x - mean) / (variance + EPS).sqrt()
    mean = own * mean + (1 - own) * mean[order]
    variance = own * variance + (1 - own) * variance[order]
    return plain * (variance + EPS).sqrt() + mean


def content_randomised(x: Tensor, order: Tensor) -> Tensor:
    """Another image's features, which get no gradient, with each image's mean and variance."""
    variance, mean = torch.var_mean(x, (2, 3), keepdim=True)
    deviation = (variance + EPS).sqrt()
    plain = ((x - mean) / deviation)[order].detach()
    return plain * deviation + mean


def uniform_cross_entropy(logits: Tensor) -> Tensor:
    """Cross-entropy of predictions ``(N, K)`` with the uniform distribution."""
    return -logits.log_softmax(1).mean()
