"""Everything random of a run: three generators whose states are part of its checkpoints."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from .ranks import Ranks


class Generators:
    """Everything random of a run: the order of the images, the augmentation, and torch's own.

    Args:
        seed: of the run.
        ranks: all go through the same order, each with its own part of it and its own draws.
    """

    def __init__(self, seed: int, ranks: Ranks) -> None:
        torch.manual_seed(_mixed(seed, "network", ranks.own))
        self.order = torch.Generator().manual_seed(_mixed(seed, "order", 0))
        self.augmentation = torch.Generator().manual_seed(_mixed(seed, "augmentation", ranks.own))
        self.epoch_order = self.order.get_state()
        """at the beginning of the epoch under way"""
        self._device = ranks.device

    def own(self) -> list[Tensor]:
        """The states that differ from process to process."""
        states = [self.augmentation.get_state(), torch.get_rng_state()]
        return states + (
            [torch.cuda.get_rng_state(self._device)] if self._device.type == "cuda" else []
        )

    def restore(self, epoch_order: Tensor, own: list[Tensor]) -> None:
        """Go back to stored states."""
        self.epoch_order = epoch_order
        self.augmentation.set_state(own[0])
        torch.set_rng_state(own[1])
        if len(own) > 2 and self._device.type == "cuda":
            torch.cuda.set_rng_state(own[2], self._device)


def _mixed(seed: int, purpose: str, rank: int) -> int:
    """A seed of its own for each purpose and rank: equal seeds would give equal numbers."""
    digest = hashlib.sha256(f"{seed} {purpose} {rank}".encode()).digest()
    return int.from_bytes(digest[:4], "little")
