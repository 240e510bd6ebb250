"""A step that failed, once more."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from ..data import get_benchmark
from ..models import build
from .config import RunConfig
from .directory import CONFIG


def replay(run: Path, file: str = "nan-rank0.pt") -> Tensor:
    """Compute the loss of a step that a failed run has kept, with its graph for a closer look.

    Args:
        run: the run's directory.
        file: the step's file in it.
    """
    config = RunConfig.read(run / CONFIG)
    step = torch.load(run / file, weights_only=True)
    benchmark = get_benchmark(config.benchmark, config.data_root)
    classes, size = len(benchmark.classes), benchmark.image_size
    network = build(config.network, classes=classes, image_size=size)
    network.load_state_dict(step["weights"])
    generator = torch.Generator()
    generator.set_state(step["augmentation"])
    torch.set_rng_state(step["torch"])
    loss = config.options.loss(benchmark.format)
    return loss(network.train(), step["images"], step["labels"], generator)
