"""What a run measures while it trains, unless it is asked to stop meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..data import Images
from .config import RunConfig
from .evaluation import Evaluation, Targets, evaluate
from .signals import StopRequest


@dataclass(frozen=True)
class Measured:
    """What was measured at the end of an epoch."""

    validation: Evaluation
    targets: Mapping[str, Evaluation] | None = None
    """None if it was not their turn"""
    average: float | None = None
    """of the paper's targets; None if there is none"""


class Measuring:
    """Measures a run's network on its validation images and targets.

    Args:
        config: the run.
        validation: its validation images.
        targets: its targets.
        device: where the network is.
        stop: true once the run is to stop.
    """

    def __init__(
        self,
        config: RunConfig,
        validation: Images,
        targets: Targets,
        device: torch.device,
        stop: StopRequest,
    ) -> None:
        self._config, self._validation, self._targets = config, validation, targets
        self._device, self._stop = device, stop

    def after_epoch(self, network: nn.Module, epoch: int) -> Measured | None:
        """Validate, and measure the targets if it is their turn; None if asked to stop."""
        every = self._config.target_every
        try:
            validation = self._evaluate(network, self._validation)
            if epoch < self._config.epochs and not (every and epoch % every == 0):
                return Measured(validation)
            found = self._on_targets(network)
        except _AskedToStopError:
            return None
        average = self._targets.average({name: one.accuracy for name, one in found.items()})
        return Measured(validation, found, average)

    def with_weights(
        self, network: nn.Module, weights: Mapping[str, Tensor]
    ) -> dict[str, Evaluation] | None:
        """Measure the targets with other weights; the network keeps its own.

        Returns:
            None if asked to stop.
        """
        own = copied(network.state_dict())
        network.load_state_dict(weights)
        try:
            return self._on_targets(network)
        except _AskedToStopError:
            return None
        finally:
            network.load_state_dict(own)

    def _on_targets(self, network: nn.Module) -> dict[str, Evaluation]:
        return {name: self._evaluate(network, self._targets[name]) for name in self._targets.names}

    def _evaluate(self, network: nn.Module, images: Images) -> Evaluation:
        def give_up() -> None:
            if self._stop:
                raise _AskedToStopError

        return evaluate(
            network,
            images,
            device=self._device,
            precision=self._config.precision,
            between=give_up,
        )


class _AskedToStopError(Exception):
    """Ends what is being measured."""


def copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A copy of weights, on the CPU."""
    return {name: value.detach().cpu().clone() for name, value in weights.items()}
