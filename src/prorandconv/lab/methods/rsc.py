"""RSC (Huang et al., ECCV 2020): what the network relies on most is muted while it learns."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import ProRandConvError
from ..data import Samples
from ..data.samples import Batch
from .ascent import frozen
from .contract import Classifying, Count, NonNegative, Probability, Style
from .learner import Learner, Losses, RunInfo

SMALL = 1e-4
ENDS = (nn.AdaptiveAvgPool2d, nn.Flatten)
"""Where the feature maps of a network end."""


@dataclass(frozen=True)
class RSC(Classifying):
    """Cross-entropy, while the features with the largest gradients of the true logit are 0.

    For each mini-batch positions or channels of the last feature maps are chosen (Eq. 2 and 3), for
    the share of images whose true probability falls most without them. As in the authors' code, and
    unlike the paper, positions are ranked by Grad-CAM (behind a mean over positions all of a
    channel have the same gradient) and the share of images grows. Their code fixes 7×7 positions,
    and raises an index error once the share exceeds 1, at epoch 40: here it stays 1.
    """

    positions: Probability = 1 / 3
    """share of the positions of an image that are muted"""
    channels: Probability = 1 / 3.2
    """share of the channels of an image that are muted, when no positions are"""
    images: Probability = 0.3
    """share of the images of a mini-batch whose features are muted, at first"""
    growth: NonNegative = 0.2
    """what is added to that share"""
    every: Count = 10
    """epochs after which it is added"""
    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pacs": {
            "learning_rate": 1e-2,
            "batch_size": 64,  # there each mini-batch is learnt from mirrored, too
            "schedule": "step",
            "epochs": 20,
        }
    }

    @property
    def style(self) -> Style:
        """Its label."""
        return Style("RSC")

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network, parted before the mean over positions."""
        return SelfChallenging(network, self, info)


class SelfChallenging(Learner):
    """A network whose most useful features are muted."""

    def __init__(self, network: nn.Module, method: RSC, info: RunInfo) -> None:
        super().__init__(network)
        self.method, self.share = method, method.images
        check_parts(network, info.format.image_size)

    def begin_epoch(
        self,
        epoch: int,
        source: Samples,
        generator: torch.Generator,
        check_stop: Callable[[], None],
    ) -> None:
        """Let the share of images grow."""
        own = self.method
        self.share = min(own.images + epoch // own.every * own.growth, 1.0)

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the cross-entropy without what counts most."""
        body, head = parts(self.network)
        spatial = bool(torch.rand((), generator=generator) < 0.5)
        share = self.method.positions if spatial else self.method.channels
        yield {
            "network": rsc_loss(body(batch.images), head, batch.labels, spatial, share, self.share)
        }


def parts(network: nn.Module) -> tuple[nn.Sequential, nn.Module]:
    """A network up to its last feature maps, and the rest of it; both share its weights."""
    children = dict(network.named_children())
    ends = [place for place, one in enumerate(children.values()) if isinstance(one, ENDS)]
    before = list(children)[: ends[0]] if ends else []
    rest = copy.copy(network)
    rest._modules = {**children, **{name: nn.Identity() for name in before}}
    return nn.Sequential(*(children[name] for name in before)), rest


def check_parts(network: nn.Module, image_size: int) -> None:
    """Raise an error if :func:`parts` does not fit a network."""
    probe = torch.linspace(-1, 1, 6 * image_size**2).view(2, 3, image_size, image_size)
    with frozen(network), torch.no_grad():
        body, head = parts(network)
        try:
            maps = body(probe)
            fits = maps.dim() == 4 and torch.equal(head(maps), network(probe)) and len(body) > 0
        except RuntimeError:  # shapes that do not fit
            fits = False
    if not fits:
        raise ProRandConvError.about(
            "network",
            type(network).__name__,
            "for rsc, one with feature maps and then a mean over positions or a flattening, "
            "such as lenet or resnet18",
        )


def rsc_loss(
    features: Tensor,
    head: Callable[[Tensor], Tensor],
    labels: Tensor,
    spatial: bool,
    share: float,
    images: float,
) -> Tensor:
    """Cross-entropy with some features muted.

    Args:
        features: ``(N, C, H, W)``.
        head: turns them into logits.
        labels: ``(N,)``.
        spatial: mute positions; else channels.
        share: of the positions or channels.
        images: share of the images for which it is done, at most.
    """
    logits, true = head(features), labels[:, None]
    (gradient,) = torch.autograd.grad(logits.gather(1, true).sum(), features)
    with torch.no_grad():
        kept = mask(features, gradient, spatial, share)
        before, after = (
            one.softmax(1).gather(1, true)[:, 0] for one in (logits, head(features * kept))
        )
        fall = before - after - SMALL
        most = fall.argsort(descending=True)[: round(len(fall) * images)]
        muted = torch.zeros_like(fall, dtype=torch.bool).index_fill(0, most, True) & (fall > 0)
        kept = torch.where(muted.view(-1, 1, 1, 1), kept, 1)
    return F.cross_entropy(head(features * kept), labels)


def mask(features: Tensor, gradient: Tensor, spatial: bool, share: float) -> Tensor:
    """0 at the share of positions ``(N, 1, H, W)`` or channels ``(N, C, 1, 1)`` that count most.

    Args:
        features: ``(N, C, H, W)``.
        gradient: of the true logits by them.
        spatial: positions; else channels.
        share: of them.
    """
    weights = gradient.mean((2, 3))
    scores = weights
    if spatial:
        scores = torch.einsum("nchw,nc->nhw", features, weights).flatten(1)
    most = scores.topk(math.ceil(scores.shape[1] * share), 1).indices
    kept = torch.ones_like(scores).scatter(1, most, 0)
    return kept.view(len(kept), 1, *features.shape[2:]) if spatial else kept[:, :, None, None]
