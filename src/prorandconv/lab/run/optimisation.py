"""From a mini-batch to new weights: optimisers, learning rates, and rounds of updates."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from ...errors import ProRandConvError
from ..data.samples import Batch
from ..methods.learner import Learner, Losses, MakeOptimiser
from .config import RunConfig
from .distributed import Ranks
from .environment import autocast

KINDS: dict[str, Callable[..., Optimizer]] = {
    "sgd": SGD,
    "nesterov": partial(SGD, nesterov=True),
    "adam": Adam,
    "adamw": AdamW,
}
TRIED_IMAGES = 4


def optimiser_maker(config: RunConfig) -> MakeOptimiser:
    """Makes optimisers as the config sets."""
    usual: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimiser in ("sgd", "nesterov"):
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

    A cosine changes it after each epoch, a polynomial after each step, "step" once.

    Args:
        config: the run.
        done: epochs done before, and the share of the one under way.
        initial: another initial rate than the config's.
    """
    first = config.learning_rate if initial is None else initial
    if config.schedule == "constant":
        return first
    if config.schedule == "step":
        return first * (0.1 if int(done) >= int(0.8 * config.epochs) else 1)
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
    """A loss that no weight can follow."""


StepLosses = tuple[list[Tensor], int]
"""All losses of a step, left on the device, and the number of images of this process."""


def read_losses(steps: Sequence[StepLosses], ranks: Ranks) -> list[float]:
    """The sum of the first loss over the images of all processes, for each step.

    Reading a loss makes the processor wait for a GPU: those of many steps are read at once.

    Raises:
        NotFiniteError: in all processes, if any loss of any process is not finite.
    """
    losses = [loss for step, _ in steps for loss in step]
    one_kind = len({loss.dtype for loss in losses}) == 1
    values = torch.stack(losses).tolist() if one_kind else [float(loss) for loss in losses]
    counts = [images for step, images in steps for _ in step]
    sums = ranks.summed([value * count for value, count in zip(values, counts, strict=True)])
    found, position = [], 0
    for step, _ in steps:
        part = slice(position, position + len(step))
        if not all(math.isfinite(total) for total in sums[part]):
            raise NotFiniteError(f"the loss is {' and '.join(map(str, values[part]))}")
        found.append(sums[position])
        position += len(step)
    return found


def learn(
    learner: Learner,
    optimisers: Mapping[str, Optimizer],
    batch: Batch,
    generator: torch.Generator,
    ranks: Ranks,
    precision: str = "32-true",
    *,
    check: bool = False,
) -> StepLosses:
    """Learn from a mini-batch, round by round.

    Args:
        learner: what is trained.
        optimisers: its optimisers, by name.
        batch: of this process.
        generator: of the augmentation.
        ranks: all processes.
        precision: of the run.
        check: check the losses of each round before its update.

    Raises:
        NotFiniteError: with ``check``; in all processes, before the weights are changed.
    """
    rounds, found, images = learner.step(batch, generator), list[Tensor](), len(batch.labels)
    while True:
        # Anew for each round: autocast keeps copies of the weights as they were.
        with autocast(batch.images.device, precision):
            losses = next(rounds, None)
        if losses is None:
            break
        detached = [loss.detach() for loss in losses.values()]
        if check:
            read_losses([(detached, images)], ranks)
        found += detached
        update(losses, optimisers, ranks)
    ranks.share_buffers(learner)
    return found, images


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


def try_step(config: RunConfig, learner: Learner, batch: Batch) -> None:
    """Compute the first losses of a mini-batch, and throw them away.

    Nothing of the run changes: the learner is a copy, and so are the generators.

    Args:
        config: the run.
        learner: what is to be trained.
        batch: a mini-batch, of which a few images are used.

    Raises:
        ProRandConvError: the losses are not what they should be.
    """
    device = batch.images.device
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        step = (
            copy.deepcopy(learner)
            .train()
            .step(Batch(*(part[:TRIED_IMAGES] for part in batch)), torch.Generator().manual_seed(0))
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
    run: Path, rank: int, learner: Learner, batch: Batch, generators: list[Tensor]
) -> str:
    """Keep what a step is made of.

    Args:
        run: the run's directory.
        rank: of this process.
        learner: as it is when the loss is computed.
        batch: of this process.
        generators: states before the step: of the augmentation, and torch's own.

    Returns:
        What a user can do with it.
    """
    path = run / f"nan-rank{rank}.pt"
    step = {
        "learner": learner.state_dict(),
        **{name: part.cpu() for name, part in batch._asdict().items()},
        "augmentation": generators[0],
        "torch": generators[1],
    }
    torch.save(step, path)
    return f"{path.name} holds the step for {__package__}.trained.replay"
