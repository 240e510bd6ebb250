"""What one training step costs, and where the time goes.

python benchmarks/training.py --output docs/results/speed/runs/training.json

For each network: one ERM step and one Pro-RandConv step of the lab's own loop, and the same
Pro-RandConv step written by hand around stock operators (torchvision's deformable convolution, one
call for each repetition, a DataLoader that normalises image by image). All are measured in turns in
one process on the same machine; figures are medians over steps, claims are ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from candidates import stock_block
from measuring import Disturbance, machine, write_json
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

import prorandconv as prc
from prorandconv.lab.data.images import ImageFormat, Images
from prorandconv.lab.data.samples import Batch
from prorandconv.lab.methods.learner import Losses, OneLoss
from prorandconv.lab.models import build_classifier
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.data import learner_of
from prorandconv.lab.run.directory import RunDirectory
from prorandconv.lab.run.distributed import Ranks
from prorandconv.lab.run.optimisation import optimiser_maker
from prorandconv.lab.run.signals import StopRequest
from prorandconv.lab.run.training import Run

SETTINGS = {"lenet": (32, 64), "resnet18": (224, 64)}
LIMITS = {"lenet": 0.15, "resnet18": 0.10}
MEAN, STD = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)


def photos(count: int, size: int) -> Images:
    """Noise in the shape of a data set: the cost of a step does not depend on the content."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (count, 3, size, size), dtype=torch.uint8, generator=generator)
    form = ImageFormat(size, MEAN, STD, base_augmentation=False)
    names = tuple("0123456789")
    return Images.in_memory(
        pixels, torch.arange(count) % 10, classes=names, split="train", format=form
    )


class TimedLearner(OneLoss):
    """The usual learner, with the time of its last step that is the network's or the images'."""

    in_network = augmenting = 0.0

    def step(self, batch: Batch, generator: torch.Generator) -> Iterator[Losses]:
        """Minimise the loss of the mini-batch, and take the time."""
        forward = 0.0

        def timed(x: Tensor) -> Tensor:
            nonlocal forward
            began = time.perf_counter()
            found: Tensor = self.network(x)
            forward += time.perf_counter() - began
            return found

        began = time.perf_counter()
        loss = self.loss(timed, batch.images, batch.labels, generator)  # type: ignore[arg-type]
        found = time.perf_counter()
        yield {"network": loss}
        self.in_network = forward + time.perf_counter() - found
        self.augmenting = found - began - forward


class LabStep:
    """The steps of the lab's own loop, on images of any size."""

    def __init__(self, method: str, network: str, images: Images, batch: int) -> None:
        config = RunConfig.paper("digits-mini", "mnist", method, batch_size=batch, epochs=1)
        self.folder = tempfile.TemporaryDirectory()
        directory = RunDirectory(Path(self.folder.name))
        ranks = Ranks(torch.device("cpu"))
        self.run = Run(ranks, config, Execution(quiet=True), directory, StopRequest())
        net = build_classifier(network, classes=10, image_size=images.format.image_size)
        usual = learner_of(config, net, images)
        assert isinstance(usual, OneLoss)
        self.learner = TimedLearner(net, usual.loss)
        self.run.state.learner = self.learner.to(memory_format=torch.channels_last)
        self.run.state.optimisers = self.learner.optimisers(optimiser_maker(config))
        self.run.data.training = images
        self.run.saved = time.monotonic()
        self.times: list[tuple[float, float, float]] = []
        self._measure()

    def _measure(self) -> None:
        """Note for each step its whole time, and the parts of network and augmentation."""
        learner, times = self.learner, self.times

        class Display:
            began = loss = 0.0

            def step(self, *arguments: Any) -> None:
                now = time.perf_counter()
                if self.began:
                    times.append((now - self.began, learner.in_network, learner.augmenting))
                self.began = now

        self.run.display = self.display = Display()  # type: ignore[assignment]

    def once_more(self) -> None:
        """Go through the images."""
        self.run.state.progress.step = 0
        self.display.began = 0.0
        self.run.take_steps()


def by_hand(
    network: str,
    images: Images,
    batch: int,
    generator: torch.Generator,
    times: list[float],
) -> None:
    """The same step, with the same draws, around stock operators: one pass over the images."""
    size = images.format.image_size
    net = build_classifier(network, classes=10, image_size=size)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
    loader = DataLoader(TensorDataset(images.store.pixels, images.labels), batch, shuffle=True)
    augment = prc.ProRandConv()
    began = 0.0
    for pixels, y in loader:
        x = torch.stack([(one.float() / 255 - mean) / std for one in pixels])
        params = augment.draw(x, generator)
        augmented = x
        offsets = params.offsets.dense().expand(len(x), -1, -1, -1)  # type: ignore[union-attr]
        draw = (offsets, params.weight, params.gamma, params.beta)
        for _ in range(int(params.repeats)):  # type: ignore[arg-type]
            augmented = stock_block(augmented, *draw)  # type: ignore[arg-type]
        loss = F.cross_entropy(net(torch.cat((x, augmented))), y.repeat(2))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        now = time.perf_counter()
        if began:
            times.append(now - began)
        began = now


def measure(network: str, rounds: int, steps: int) -> dict[str, Any]:
    """Medians for one network."""
    size, batch = SETTINGS[network]
    images = photos(batch * (steps + 1), size)
    ways = {method: LabStep(method, network, images, batch) for method in ("erm", "pro-randconv")}
    hand: list[float] = []
    generator = ways["pro-randconv"].run.state.augmentation.clone_state()
    for _ in range(rounds):
        for way in ways.values():
            way.once_more()
        by_hand(network, images, batch, generator, hand)
    found: dict[str, Any] = {"image_size": size, "batch_size": batch, "rounds": rounds}
    for method, way in ways.items():
        # Means for the parts: L differs from step to step, and with it the augmentation.
        columns = zip(*way.times, strict=True)
        whole, network_time, augmentation = (statistics.mean(column) for column in columns)
        found[method] = {
            "steps": len(way.times),
            "images_per_second": batch / whole,
            "median_step_ms": 1000 * statistics.median(t[0] for t in way.times),
            "share_network": network_time / whole,
            "share_augmentation": augmentation / whole,
            "share_data_and_loop": (whole - network_time - augmentation) / whole,
            "share_but_network": 1 - network_time / whole,
        }
    by_hand_rate = batch / statistics.mean(hand)
    found["by_hand_images_per_second"] = by_hand_rate
    lab_rate = found["pro-randconv"]["images_per_second"]
    found["loop_over_by_hand"] = lab_rate / by_hand_rate
    found["goal_share_but_network"] = LIMITS[network]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--networks", nargs="+", default=list(SETTINGS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"machine": machine()}
    for network in options.networks:
        with Disturbance() as disturbance:
            measured = measure(network, options.rounds, 30 if network == "lenet" else 2)
        found[network] = {**measured, "disturbance": disturbance.share}
        print(network, json.dumps(found[network], indent=1), flush=True)
        if options.output is not None:
            write_json(options.output, found)


if __name__ == "__main__":
    main()
