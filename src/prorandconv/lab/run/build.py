"""What a run consists of, made from its config: benchmark, network and learner."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..data import Benchmark, Images, get_benchmark
from ..data.images import InMemoryImages
from ..errors import DataError
from ..files import data_root
from ..methods.learner import Learner, Task
from ..models import build
from .config import RunConfig
from .identity import DataIdentity


def benchmark_of(config: RunConfig) -> Benchmark:
    """The benchmark of a run, with the data that the run is named after.

    Raises:
        DataError: the data is another one now.
    """
    benchmark = get_benchmark(config.benchmark, config.data_root)
    own, there = config.identity, DataIdentity.of(benchmark)
    if own != there:
        names = {"domains": "domains", "classes": "classes", "content": "images"}
        other = [text for name, text in names.items() if getattr(own, name) != getattr(there, name)]
        raise DataError.at(
            data_root(config.data_root),
            f"holds other {' and '.join(other) or 'images'} than this config was made for",
            "restore them, or make the config anew: without --config, or with RunConfig.paper",
        )
    return benchmark


def network_of(config: RunConfig, *, initial: bool = False) -> nn.Module:
    """The network of a run; needs none of its data.

    Args:
        config: the run.
        initial: load the weights that training begins with, where the config asks for some.
    """
    own = config.identity
    network = build(
        config.network,
        classes=len(own.classes),
        image_size=own.image_size,
        pretrained=initial and config.pretrained,
        weights=config.weights if initial else None,
    )
    return config.options.adapt(network, len(own.classes))


def learner_of(
    config: RunConfig,
    network: nn.Module,
    source: Images | None = None,
    steps: int = 1,
    gather: Callable[[Tensor], Tensor] = lambda tensor: tensor,
) -> Learner:
    """What a run trains.

    Args:
        config: the run.
        network: its network.
        source: its training images; without them, one black image stands for them.
        steps: of an epoch.
        gather: see :class:`~prorandconv.lab.methods.learner.Task`.
    """
    classes, form = config.identity.classes, config.format
    if source is None:
        size = form.image_size
        source = InMemoryImages(
            torch.zeros(1, 3, size, size, dtype=torch.uint8),
            torch.zeros(1, dtype=torch.int64),
            classes=classes,
            split="train",
            format=form,
        )
    task = Task(form, len(classes), config.epochs, steps, source, gather)
    return config.options.learner(network, task)
