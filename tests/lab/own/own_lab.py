"""A network, losses and a child process of a user's own, importable by child processes."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


def tiny(classes: int, image_size: int) -> nn.Module:
    """Small enough for a step of a millisecond; dropout draws from torch's own generator."""
    side = (image_size // 2 - 4) // 2
    return nn.Sequential(
        nn.AvgPool2d(2),
        nn.Conv2d(3, 8, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(8 * side * side, classes),
    )


def plain(classes: int, image_size: int) -> nn.Module:
    """Without dropout: its result does not depend on how images are dealt to processes."""
    return nn.Sequential(
        nn.AvgPool2d(4), nn.Flatten(), nn.Linear(3 * (image_size // 4) ** 2, classes)
    )


def normalised(classes: int, image_size: int) -> nn.Module:
    """With batch normalisation, whose statistics depend on the weights before it."""
    return nn.Sequential(
        nn.AvgPool2d(4),
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * (image_size // 4 - 2) ** 2, classes),
    )


def segmenting(classes: int, image_size: int) -> nn.Module:
    """A class for each pixel, in a few milliseconds a step."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Conv2d(8, classes, 3, padding=1),
    )


class PrecisionBound(nn.Linear):
    """Takes images for other classes when it computes with other numbers."""

    def forward(self, images):
        found = super().forward(images.flatten(1))
        return found.roll(1, 1) if found.dtype == torch.bfloat16 else found


def precision_bound(classes: int, image_size: int) -> nn.Module:
    return PrecisionBound(3 * image_size**2, classes)


def weighted(network, images, labels, generator, *, weight: float = 2.0, power: int = 1):
    return weight**power * F.cross_entropy(network(images), labels)


def demanding(network, images, labels, generator):
    """Wants more of a network than that it can be called."""
    return F.cross_entropy(network.classifier(images), labels)


def no_tensor(network, images, labels, generator):
    return F.cross_entropy(network(images), labels).item()


def by_image(network, images, labels, generator):
    return F.cross_entropy(network(images), labels, reduction="none")


def without_gradient(network, images, labels, generator):
    return F.cross_entropy(network(images), labels).detach()


def recorded(network, images, labels, generator, *, folder: str = ""):
    """Cross-entropy that notes what each process has seen and drawn, the trial step too."""
    rank = torch.distributed.get_rank()
    drawn = float(torch.rand((), generator=generator))
    with open(Path(folder) / f"rank{rank}.jsonl", "a") as file:
        file.write(json.dumps({"images": len(labels), "drawn": drawn}) + "\n")
    return F.cross_entropy(network(images), labels)


def child(config, runs: str, minutes: float) -> None:
    """Train in a process of its own; the exit code says how it went."""
    from prorandconv.lab.errors import StoppedError
    from prorandconv.lab.run.config import Execution
    from prorandconv.lab.run.training import train

    torch.set_num_threads(1)
    execution = Execution(
        runs=Path(runs), checkpoint_minutes=minutes, quiet=True, keep_checkpoint=True
    )
    try:
        train(config, execution)
    except StoppedError:
        sys.exit(130)


def troubled(network, images, labels, generator, *, folder: str = "", times: int = 1):
    """Cross-entropy that raises in the first step of so many attempts, one file for each."""
    seen = len(list(Path(folder).iterdir()))
    if seen < times:
        (Path(folder) / f"attempt{seen}").touch()
        raise RuntimeError("a bad moment")
    return F.cross_entropy(network(images), labels)


def killed(network, images, labels, generator, *, folder: str = ""):
    """Cross-entropy whose process is killed once."""
    mark = Path(folder) / "killed"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return F.cross_entropy(network(images), labels)


def located(classes: int, image_size: int) -> nn.Module:
    """The tiny network; notes on which node of a Ray cluster it was made."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    with open(Path(os.environ["OWN_LAB_NOTES"]) / node, "a") as file:
        file.write(f"{os.getpid()}\n")
    return tiny(classes, image_size)


def trained() -> nn.Module:
    """As a stress test imports a network: three classes, images of 16 pixels."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(3 * 16 * 16, 3))
