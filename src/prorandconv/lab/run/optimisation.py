"""From a mini-batch to new weights: optimisers, learning rates, and rounds of updates."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from ...errors import ProRandConvError
from ..methods.learner import Learner, Losses, MakeOptimiser
from .config import RunConfig
from .data import learner_of, network_of
from .directory import CONFIG
from .distributed import Ranks
from .environment import autocast

KINDS: dict[str, type[Optimizer]] = {"sgd": SGD, "adam": Adam, "adamw": AdamW}
TRIED_IMAGES = 4


def optimiser_maker(config: RunConfig) -> MakeOptimiser:
    """Makes optimisers as the config asks for."""
    usual: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimiser == "sgd":
        usual["momentum"] = config.momentum

    def make(parameters: Iterable[Any], **changes: Any) -> Optimizer:
        made = KINDS[config.optimiser](parameters, **(usual | changes))
        for group in made.param_groups:
            group["initial_lr"] = group["lr"]
        return made

    return make


POWER = 0.9
"""Of the polynomial schedule."""


def learning_rate(config: RunConfig, done: float, initial: float | None = None) -> float:
    """The learning rate, from the initial rate towards 0.

    A cosine changes it after each epoch, a polynomial after each step.

    Args:
        config: the run.
        done: epochs done before, and the share of the one under way.
        initial: another initial rate than the config's.
    """
    first = config.learning_rate if initial is None else initial
    if config.schedule == "constant":
        return first
    if config.schedule == "poly":
        return first * math.pow(1 - done / config.epochs, POWER)
    return first * (1 + math.cos(math.pi * int(done) / config.epochs)) / 2


def set_learning_rates(optimisers: Iterable[Optimizer], config: RunConfig, done: float) -> None:
    """Set the learning rates of a step; see :func:`learning_rate`."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            if not group.get("constant"):
                group["lr"] = learning_rate(config, done, group["initial_lr"])


class NotFiniteError(ArithmeticError):
    """A loss that no weight can follow.

    Args:
        losses: of the round.
    """

    def __init__(self, losses: Losses) -> None:
        values = [str(float(loss.detach())) for loss in losses.values()]
        super().__init__(f"the loss is {' and '.join(values)}")


def learn(
    learner: Learner,
    optimisers: Mapping[str, Optimizer],
    batch: tuple[Tensor, Tensor],
    generator: torch.Generator,
    ranks: Ranks,
    precision: str = "32-true",
) -> tuple[float, int]:
    """Learn from a mini-batch, round by round.

    Args:
        learner: what is trained.
        optimisers: its own, by name.
        batch: images and labels of this process.
        generator: of the augmentation.
        ranks: all processes.
        precision: of the run.

    Returns:
        The sum of the first loss over the images of all processes, and how many these are.

    Raises:
        NotFiniteError: in all processes, before the weights are changed.
    """
    images, labels = batch
    rounds = learner.step(images, labels, generator)
    found: list[tuple[float, int]] = []
    while True:
        # Anew for each round: autocast keeps copies of the weights as they were.
        with autocast(images.device, precision):
            losses = next(rounds, None)
        if losses is None:
            break
        own = [float(loss.detach()) * len(labels) for loss in losses.values()]
        *sums, seen = ranks.summed([*own, len(labels)])
        if not all(math.isfinite(total) for total in sums):
            raise NotFiniteError(losses)
        found.append((sums[0], int(seen)))
        update(losses, optimisers, ranks)
    ranks.share_buffers(learner)
    return found[0]


def update(losses: Losses, optimisers: Mapping[str, Optimizer], ranks: Ranks) -> None:
    """One round: all gradients first, averaged over the processes; then all steps.

    Args:
        losses: by the name of the optimiser whose parameters follow them.
        optimisers: by name.
        ranks: all processes.
    """
    found: dict[str, tuple[list[Tensor], list[Tensor | None]]] = {}
    for left, (name, loss) in zip(range(len(losses))[::-1], losses.items(), strict=True):
        groups = optimisers[name].param_groups
        parameters = [p for group in groups for p in group["params"] if p.requires_grad]
        own = torch.autograd.grad(loss, parameters, retain_graph=left > 0, allow_unused=True)
        found[name] = parameters, ranks.mean_gradients(parameters, own)
    for name, (parameters, gradients) in found.items():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        for group in optimisers[name].param_groups:
            if group.get("clip"):
                _clip(group["params"], group["clip"])
        optimisers[name].step()
        optimisers[name].zero_grad(set_to_none=True)


def _clip(parameters: Iterable[Tensor], largest: float) -> None:
    """Shorten a gradient to a largest norm; not in place, as gradients may share memory."""
    having = [(one, one.grad) for one in parameters if one.grad is not None]
    norm = nn.utils.get_total_norm([gradient for _, gradient in having])
    for parameter, gradient in having:
        parameter.grad = gradient * (largest / (norm + 1e-6)).clamp(max=1)


def try_step(config: RunConfig, learner: Learner, images: Tensor, labels: Tensor) -> None:
    """Compute the first losses of a mini-batch, and throw them away.

    Nothing of the run changes: the learner is a copy, and so are the generators.

    Args:
        config: the run.
        learner: what is to be trained.
        images: a mini-batch, of which a few are used.
        labels: theirs.

    Raises:
        ProRandConvError: the losses are not what they should be.
    """
    devices = [images.device] if images.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        step = (
            copy.deepcopy(learner)
            .train()
            .step(images[:TRIED_IMAGES], labels[:TRIED_IMAGES], torch.Generator().manual_seed(0))
        )
        try:
            losses = next(step, None)
        except Exception as error:  # whatever a method or network of a user's raises
            raise _unfit(config, f"raises {type(error).__name__}: {error}") from error
    if not losses:
        raise _unfit(config, "gives no loss at all")
    for loss in losses.values():
        if not isinstance(loss, Tensor):
            raise _unfit(config, f"gives a {type(loss).__name__}")
        if loss.dim() > 0:
            raise _unfit(config, f"gives a tensor of shape {tuple(loss.shape)}")
        if not loss.requires_grad:
            raise _unfit(config, "gives a loss without gradient")


def _unfit(config: RunConfig, found: str) -> ProRandConvError:
    custom = "method" if ":" in config.method else "network"
    return ProRandConvError.about(
        custom,
        f"{getattr(config, custom)}, which {found}",
        f"a loss for {TRIED_IMAGES} images: a tensor with one number and a gradient",
    )


def keep_step(
    run: Path,
    rank: int,
    learner: Learner,
    batch: tuple[Tensor, Tensor],
    generators: list[Tensor],
) -> str:
    """Keep what a step is made of.

    Args:
        run: the run's directory.
        rank: of this process.
        learner: as it is when the loss is found.
        batch: images and labels.
        generators: states before the step: of the augmentation, and torch's own.

    Returns:
        What a user can do with it.
    """
    images, labels = batch
    path = run / f"nan-rank{rank}.pt"
    step = {
        "learner": learner.state_dict(),
        "images": images.cpu(),
        "labels": labels.cpu(),
        "augmentation": generators[0],
        "torch": generators[1],
    }
    torch.save(step, path)
    return f"{path.name} holds the step for {__name__}.replay"


def replay(run: Path, file: str = "nan-rank0.pt", *, trust_code: bool = False) -> Tensor:
    """Compute the losses of a step that a failed run has kept, until one is not finite.

    Returns:
        That loss, with its graph for a closer look; if all are finite, the last one.

    Args:
        run: the run's directory.
        file: the step's file in it.
        trust_code: import a method or network that the run names as ``package.module:function``.
    """
    config = RunConfig.read(run / CONFIG, trust_code=trust_code)
    step = torch.load(run / file, map_location="cpu", weights_only=True)
    learner = learner_of(config, network_of(config))
    learner.load_state_dict(step["learner"])
    generator = torch.Generator()
    generator.set_state(step["augmentation"])
    torch.set_rng_state(step["torch"])
    for losses in learner.train().step(step["images"], step["labels"], generator):
        for loss in losses.values():
            if not torch.isfinite(loss):
                return loss
    return loss
