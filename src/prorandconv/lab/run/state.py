"""What of a run is random, and which weights may still be chosen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from .distributed import Ranks
from .evaluation import copied
from .result import RunState
from .stored import CHOICES


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


class Selection:
    """The weights of epochs that may be chosen; only the first process has any.

    Args:
        rule: ``select`` of the run's config.
        state: how far the run is.
        best: the weights that count so far, and ``others`` those of other choices, by epoch.
    """

    def __init__(
        self,
        rule: str,
        state: RunState,
        best: Mapping[str, Tensor] | None = None,
        others: Mapping[int, Mapping[str, Tensor]] | None = None,
    ) -> None:
        self._choice, self._state = CHOICES[rule], state
        self._kept = {self.epoch: best, **(others or {})} if best else {}

    @property
    def epoch(self) -> int:
        """The epoch whose weights count, so far."""
        return self._state.chosen_epochs()[self._choice]

    @property
    def best(self) -> Mapping[str, Tensor]:
        """The weights that count, so far; none before the first epoch has ended."""
        return self._kept[self.epoch] if self._kept else {}

    @property
    def others(self) -> dict[int, Mapping[str, Tensor]]:
        """The weights of other choices, by epoch."""
        return {epoch: weights for epoch, weights in self._kept.items() if epoch != self.epoch}

    def of(self, epoch: int) -> Mapping[str, Tensor]:
        """The weights of an epoch that was chosen."""
        return self._kept.get(epoch, {})

    def keep(self, network: nn.Module) -> None:
        """Keep the weights of this epoch if they may be chosen, and no longer those that are not.

        The last ones are in the network: they are kept only if they count.
        """
        epochs = self._state.chosen_epochs()
        wanted = {e for name, e in epochs.items() if name != "last"} | {self.epoch}
        self._kept = {epoch: weights for epoch, weights in self._kept.items() if epoch in wanted}
        if self._state.epoch in wanted:
            self._kept[self._state.epoch] = copied(network.state_dict())
