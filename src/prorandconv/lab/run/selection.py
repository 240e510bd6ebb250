"""Which epoch's weights count, and those that may still be chosen."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from .evaluation import copied
from .result import CHOICES, RunState


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
