"""JiGen (Carlucci et al., CVPR 2019): a second head finds out how tiles were permuted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations as all_orders
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torchvision.transforms.v2 import functional as tv

from ..data.samples import Batch
from ..models import features, last_linear
from .contract import Classifying, Count, NonNegative, Probability
from .learner import Learner, Losses, MakeOptimiser, RunInfo

GRID = 3


@dataclass(frozen=True)
class JiGen(Classifying):
    """Some images are cut into 3×3 tiles, which are permuted; a second head names the permutation.

    The loss is CE(class) + α CE(permutation), both over all images; unpermuted images are a class
    of the second head too. As in the authors' code each tile turns grey with a small
    probability. There 30 stored permutations are used and photos have 222 pixels: here they are
    chosen by the same rule (each the farthest from those before it), and pixels that do not
    divide by 3 stay at the right and bottom edges.
    """

    label: ClassVar[str] = "JiGen"
    p: Probability = 0.1
    """probability that an image's tiles are permuted (1 - β of the authors)"""
    orders: Count = 30
    """how many permutations there are"""
    weight: NonNegative = 0.7
    """α, of the second head's loss"""
    grey: Probability = 0.1
    """probability that a tile turns grey"""

    authors: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pacs": {"image_size": 222, "batch_size": 128, "schedule": "step", "epochs": 30}
    }

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The network with a second head."""
        return Jigsaw(network, self)


class Jigsaw(Learner):
    """A network with a head for permutations on its features."""

    orders: Tensor

    def __init__(self, network: nn.Module, method: JiGen) -> None:
        super().__init__(network)
        self.method = method
        whole = torch.arange(GRID**2)[None]
        self.register_buffer("orders", torch.cat([whole, permutations(method.orders)]))
        self.head = nn.Linear(last_linear(network).in_features, len(self.orders))

    def optimisers(self, make: MakeOptimiser) -> dict[str, Optimizer]:
        """One, for the network and its second head."""
        return {"network": make([*self.network.parameters(), *self.head.parameters()])}

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Classify all images and their permutations."""
        x, count = batch.images, len(batch.images)
        drawn = torch.randint(1, len(self.orders), (count,), generator=generator)
        drawn *= torch.rand(count, generator=generator) < self.method.p
        grey = torch.rand(count, GRID**2, generator=generator) < self.method.grey
        which = drawn.to(x.device)
        x = shuffled(greyed(x, grey.to(x.device)), self.orders[which])
        found, logits = features(self.network, x)
        task = F.cross_entropy(logits, batch.labels)
        yield {"network": task + self.method.weight * F.cross_entropy(self.head(found), which)}


def permutations(count: int) -> Tensor:
    """Orders of nine tiles that are far apart, ``(count, 9)``.

    Each is the one that differs in most places from the nearest of those before it, the first of
    which is the order as it is.
    """
    every = torch.tensor(list(all_orders(range(GRID**2))), dtype=torch.uint8)
    nearest = (every != every[0]).sum(1)
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(int(nearest.argmax()))
        nearest = torch.minimum(nearest, (every != every[chosen[-1]]).sum(1))
    return every[chosen].long()


def shuffled(x: Tensor, orders: Tensor) -> Tensor:
    """Put tile ``orders[n, t]`` of each image at place t, by rows.

    Args:
        x: images ``(N, C, S, S)``; what is left of S by 3 stays as it is.
        orders: ``(N, 9)``.
    """
    side = x.shape[-1] // GRID
    place = torch.arange(GRID * side, device=x.device)
    tile, inner = place // side, place % side
    taken = orders[:, tile[:, None] * GRID + tile]
    rows = taken // GRID * side + inner[:, None]
    columns = taken % GRID * side + inner
    images = torch.arange(len(x), device=x.device)[:, None, None]
    result = x.clone()
    result[..., : len(place), : len(place)] = x[images, :, rows, columns].permute(0, 3, 1, 2)
    return result


def greyed(x: Tensor, chosen: Tensor) -> Tensor:
    """Turn tiles grey, by the usual weights of red, green and blue.

    Args:
        x: images ``(N, 3, S, S)``.
        chosen: which tiles, bool ``(N, 9)``.
    """
    side = x.shape[-1] // GRID
    mask = chosen.view(-1, 1, GRID, GRID).repeat_interleave(side, 2).repeat_interleave(side, 3)
    left = x.shape[-1] - GRID * side
    grey = tv.rgb_to_grayscale(x, num_output_channels=3)
    return torch.where(F.pad(mask, (0, left, 0, left)), grey, x)
