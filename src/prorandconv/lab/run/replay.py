"""A step that failed: kept, and done once more."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from ..methods.learner import Learner
from .build import learner_of, network_of
from .config import RunConfig
from .directory import CONFIG


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
