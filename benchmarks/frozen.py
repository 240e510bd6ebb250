"""What frozen copies lose against a new draw for every mini-batch, on digits-mini.

OMP_NUM_THREADS=1 python benchmarks/frozen.py    about a quarter of an hour on one core

A small LeNet learns from 3,000 digits of MNIST and is tested on four kinds of digits that it never
saw. All ways take the same number of steps, on mini-batches of 128 images each. Frozen copies are
like those of ``prorandconv augment --grey colour``: one draw for each picture and copy, in 8 bits.
The figures go to docs/results/augment/runs/frozen.json, their table into the page
beside that folder.
"""

from __future__ import annotations

import argparse
import math
import shlex
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from measuring import machine, write_json
from torch import Tensor, nn

import prorandconv as prc
from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.augmentation import normalise
from prorandconv.lab.data.images import labelled

PAGE = Path(__file__).parents[1] / "docs" / "results" / "augment" / "README.md"
OUTPUT = PAGE.parent / "runs" / "frozen.json"
BEGIN, END = "<!-- table of benchmarks/frozen.py -->", "<!-- end of table -->"
BATCH = 64
COPIES = (1, 4, 16)
LEARNING_RATE = 0.03
HALF = (0.5,) * 3

Batches = Iterator[tuple[Tensor, Tensor]]
Way = Callable[[torch.Generator], Batches]


def stored(domain: str, split: str) -> tuple[Tensor, Tensor]:
    """Pixels uint8 (N, 3, 32, 32) and labels."""
    images = labelled(get_benchmark("digits-mini").load(domain, split))  # type: ignore[arg-type]
    pixels = images.stacked(torch.arange(len(images)))
    return pixels.expand(-1, 3, -1, -1).contiguous(), images.labels


def frozen(pixels: Tensor, copies: int, seed: int) -> Tensor:
    """Copies (K, N, 3, 32, 32) of all pictures, a draw for each, rounded to 8 bits."""
    augment, generator = prc.ProRandConv(mode="sample"), torch.Generator().manual_seed(seed)
    made = [
        augment(normalise(part, HALF, HALF), generator=generator)
        for _ in range(copies)
        for part in pixels.split(500)
    ]
    return torch.cat(made).add(1).mul(127.5).round().byte().view(copies, *pixels.shape)


def shuffled(count: int, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Positions of mini-batches, all pictures once in each round."""
    while True:
        order = torch.randperm(count, generator=generator)
        yield from order[: count - count % batch].split(batch)


def ways(pixels: Tensor, labels: Tensor, copies: Tensor) -> dict[str, Way]:
    """Mini-batches without end, by name."""
    augment = {mode: prc.ProRandConv(mode=mode) for mode in ("batch", "sample")}  # type: ignore[arg-type]

    def erm(generator: torch.Generator) -> Batches:
        for index in shuffled(len(pixels), 2 * BATCH, generator):
            yield normalise(pixels[index], HALF, HALF), labels[index]

    def folder(kept: int) -> Way:
        pool = torch.cat([pixels[None], copies[:kept]]).flatten(0, 1)

        def batches(generator: torch.Generator) -> Batches:
            for index in shuffled(len(pool), 2 * BATCH, generator):
                yield normalise(pool[index], HALF, HALF), labels[index % len(pixels)]

        return batches

    def pairs(kept: int) -> Way:
        def batches(generator: torch.Generator) -> Batches:
            for index in shuffled(len(pixels), BATCH, generator):
                which = torch.randint(kept, (BATCH,), generator=generator)
                both = torch.cat([pixels[index], copies[which, index]])
                yield normalise(both, HALF, HALF), labels[index].repeat(2)

        return batches

    def fresh(mode: str) -> Way:
        def batches(generator: torch.Generator) -> Batches:
            for index in shuffled(len(pixels), BATCH, generator):
                x = normalise(pixels[index], HALF, HALF)
                new = augment[mode](x, generator=generator)
                yield torch.cat([x, new]), labels[index].repeat(2)

        return batches

    return {
        "ERM, originals only": erm,
        **{f"folder of originals and {k} frozen": folder(k) for k in COPIES},
        **{f"originals and one of {k} frozen": pairs(k) for k in COPIES[1:]},
        "Pro-RandConv, a new draw for each picture": fresh("sample"),
        "Pro-RandConv, a new draw for each mini-batch": fresh("batch"),
    }


def lenet() -> nn.Module:
    """A LeNet with a quarter of the lab's channels: all ways together then take minutes."""
    convolutions = (
        *(nn.Conv2d(3, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
    )
    layers = (nn.Linear(800, 256), nn.ReLU(), nn.Linear(256, 10))
    return nn.Sequential(*convolutions, *layers)


def trained(way: Way, steps: int, seed: int) -> nn.Module:
    """A network after a number of steps."""
    torch.manual_seed(seed)
    network = lenet()
    optimiser = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE, momentum=0.9)
    batches = way(torch.Generator().manual_seed(seed))
    network.train()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * (1 + math.cos(math.pi * step / steps)) / 2
        x, y = next(batches)
        optimiser.zero_grad()
        F.cross_entropy(network(x), y).backward()
        optimiser.step()
    return network.eval()


@torch.no_grad()
def accuracy(network: nn.Module, pixels: Tensor, labels: Tensor) -> float:
    """Accuracy in %."""
    parts = zip(pixels.split(500), labels.split(500), strict=True)
    right = sum(int((network(normalise(x, HALF, HALF)).argmax(1) == y).sum()) for x, y in parts)
    return 100 * right / len(labels)


def table(found: dict[str, Any]) -> str:
    """Averages over the unseen domains, means over seeds."""
    lines = ["| what the network learns from | unseen domains | same domain |"]
    lines += ["| --- | ---: | ---: |"]
    for name, figures in found["accuracy"].items():
        cells = []
        for column in ("average", "mnist"):
            values = figures[column]
            spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
            cells.append(f"{statistics.fmean(values):.1f}{spread}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write_table(text: str) -> None:
    """Put the table into the page, between its marks."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    pixels, labels = stored("mnist", "train")
    domains = ("mnist", *(n for n in get_benchmark("digits-mini").domains if n != "mnist"))
    tests = {name: stored(name, "test") for name in domains}
    steps = options.epochs * (len(pixels) // BATCH)
    found: dict[str, Any] = {
        "command": shlex.join(["python", *sys.argv]),
        "machine": machine(),
        "benchmark": "digits-mini",
        "network": "LeNet, a quarter of the channels",
        "learning_rate": LEARNING_RATE,
        "images": len(pixels),
        "steps": steps,
        "images_per_step": 2 * BATCH,
        "seeds": options.seeds,
        "accuracy": {},
    }
    for seed in options.seeds:
        copies = frozen(pixels, max(COPIES), seed)
        for name, way in ways(pixels, labels, copies).items():
            network = trained(way, steps, seed)
            figures = {domain: accuracy(network, *test) for domain, test in tests.items()}
            unseen = [value for domain, value in figures.items() if domain != "mnist"]
            figures["average"] = statistics.fmean(unseen)
            kept = found["accuracy"].setdefault(name, {})
            for domain, value in figures.items():
                kept.setdefault(domain, []).append(value)
            print(f"seed {seed}: {name}: {figures['average']:.1f}", flush=True)
        write_json(options.output, found)
    print(table(found))
    if options.output == OUTPUT:
        write_table(table(found))


if __name__ == "__main__":
    main()
