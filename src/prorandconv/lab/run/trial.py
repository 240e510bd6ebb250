"""A first step on a few images, before a run begins: a method that does not fit says so at once."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from ...errors import ProRandConvError
from ..methods.learner import Learner
from .config import RunConfig

IMAGES = 4


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
            .step(images[:IMAGES], labels[:IMAGES], torch.Generator().manual_seed(0))
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
        f"a loss for {IMAGES} images: a tensor with one number and a gradient",
    )
