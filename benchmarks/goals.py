"""One image at a time, beside what a user would write instead: every goal in one run.

python benchmarks/goals.py            about ten minutes; leave the machine alone
python benchmarks/goals.py --quick    two minutes, to try it

One thread, drawing included, all ways in turns; a batch with one draw, a training step and a
DataLoader have two threads or workers. The figures go to docs/results/speed/runs/goals.json, their
table into docs/results/speed/README.md.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from candidates import CANDIDATES, PER_IMAGE, training_step, with_engine
from cells import Cell, measure
from data import generate_photos
from measuring import Disturbance, machine, timed, write_json
from memory import copies_of_the_batch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import prorandconv as prc

SPEED = Path(__file__).parents[1] / "docs" / "results" / "speed"
OUTPUT = SPEED / "runs" / "goals.json"
BEGIN, END = "<!-- table of benchmarks/goals.py -->", "<!-- end of table -->"
SIZES = (32, 224)
DISTURBED = 0.03
"""Share of the processors from which on the table tells that others took it."""


@dataclass(frozen=True)
class Goal:
    """Something that was wanted, and the figure that tells whether it was reached."""

    name: str
    key: str
    unit: str
    wanted: dict[int, float]
    """by size"""
    at_least: bool = False

    def cell(self, found: dict[str, Any], size: int) -> str:
        """The figure and what was wanted, for a table."""
        value = found.get(f"{size} px", {}).get(self.key)
        if value is None:
            return "–"
        digits = 1 if value < 100 else 0
        wanted = self.wanted.get(size)
        if wanted is None:
            return f"{value:.{digits}f}{self.unit}"
        reached = value >= wanted if self.at_least else value <= wanted
        sign = "≥" if self.at_least else "≤"
        note = "" if reached else "missed: "
        return f"{value:.{digits}f}{self.unit} ({note}{sign} {wanted:g}{self.unit})"


GOALS = (
    Goal("one image, over the obvious way", "one_over_obvious", "×", {32: 10, 224: 30}, True),
    Goal("one image, time over a plain conv2d's", "one_to_plain", "×", {32: 2, 224: 1}),
    Goal(
        '64 images, `mode="sample"`, over the obvious way image by image',
        "sample_over_obvious",
        "×",
        {32: 20, 224: 30},
        True,
    ),
    Goal(
        "64 images, one draw, two threads, over the obvious way",
        "batch_over_obvious",
        "×",
        {32: 130},
        True,
    ),
    Goal("memory of one image, in copies", "one_copies", "", {32: 2, 224: 2}),
    Goal('memory of 64 images, `mode="sample"`, in copies', "sample_copies", "", {32: 2, 224: 2}),
    Goal("memory of one image, `eager`, in copies", "eager_copies", "", {32: 8, 224: 8, 1024: 8}),
    Goal('`mode="sample"` beside a training step (LeNet, ResNet-18)', "step_percent", " %",
         {32: 6, 224: 3}),
    Goal("images per second that a DataLoader loses", "loader_percent", " %", {224: 10}),
)  # fmt: skip


def times(size: int, batch: int, ways: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Median milliseconds of some ways, measured in turns."""
    calls = {name: way.make() for name, way in ways.items()}
    with torch.no_grad():
        found = measure(
            Cell(size, batch),
            calls,
            rounds=10,
            seconds=dict.fromkeys(calls, seconds),
            limit=120,
            rates={},
            copies={},
            turn=0.3,
        )
    # Only rounds that all have had: L differs from round to round.
    rounds = min(len(entry["seconds"]) for entry in found.values())
    return {
        name: 1000 * statistics.median(entry["seconds"][:rounds]) for name, entry in found.items()
    }


def ratios(size: int, seconds: float) -> dict[str, Any]:
    """Single images and one draw per image on one thread, one draw for a batch on two."""
    names = ("obvious", "plain_conv", "eager", "native")
    one = times(size, 1, {name: CANDIDATES[name] for name in names}, seconds)
    sample = times(size, 64, PER_IMAGE, seconds)
    torch.set_num_threads(2)  # as in augmentation.py
    batch = times(size, 64, {name: CANDIDATES[name] for name in ("obvious", "native")}, seconds)
    torch.set_num_threads(1)
    return {
        "one_ms": one,
        "sample_ms": sample,
        "batch_ms": batch,
        "one_over_obvious": one["obvious"] / one["native"],
        "one_to_plain": one["native"] / one["plain_conv"],
        "sample_over_obvious": sample["obvious_each"] / sample["sample"],
        "batch_over_obvious": batch["obvious"] / batch["native"],
    }


def memory(size: int) -> dict[str, float]:
    """Copies of the images at the peak, result and draw included."""
    found = {"eager_copies": copies_of_the_batch("eager", size, 1)["peak"]}
    if size in SIZES:
        found["one_copies"] = copies_of_the_batch("native", size, 1)["peak"]
        found["sample_copies"] = copies_of_the_batch("sample", size, 64)["peak"]
    return found


def beside_a_step(size: int, rounds: int) -> dict[str, float]:
    """Two threads: one draw per image for a mini-batch, in percent of a step on it."""
    torch.set_num_threads(2)
    x = Cell(size, 64).images()
    step, augment = training_step(size), with_engine("native", "sample")
    steps, augmented = [], []
    step(x, 1)
    for _ in range(rounds):
        steps.append(timed(lambda: step(x, 1)))
        # L = 1 to 10 in equal shares
        augmented.append(statistics.mean(timed(lambda n=n: augment(x, n)) for n in range(1, 11)))
    torch.set_num_threads(1)
    ours, theirs = statistics.median(augmented), statistics.median(steps)
    return {"step_ms": 1000 * theirs, "step_percent": 100 * ours / theirs}


def loader(count: int, rounds: int) -> dict[str, float]:
    """Two workers that decode, crop and augment photos of 224 pixels one by one, or do not."""
    plain = v2.Compose([
        v2.PILToTensor(),
        v2.RandomResizedCrop(224, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize((0.5,) * 3, (0.5,) * 3),
    ])  # fmt: skip
    ways: dict[str, Callable[[Any], Any]] = {
        "plain": plain,
        "augmented": v2.Compose([plain, prc.ProRandConv()]),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as made:
        generate_photos(Path(made), ["one", "two"], count // 2, side=500)
        loaders = {
            name: DataLoader(ImageFolder(made, way), 32, num_workers=2, persistent_workers=True)
            for name, way in ways.items()
        }
        for each in loaders.values():
            list(each)  # starts the workers
        for _ in range(rounds):
            for name, each in loaders.items():
                seconds[name].append(timed(lambda each=each: list(each)))
        rates = {name: count / statistics.median(taken) for name, taken in seconds.items()}
    lost = 100 * (1 - rates["augmented"] / rates["plain"])
    return {
        "loader_images_per_second": rates["plain"],
        "loader_augmented_images_per_second": rates["augmented"],
        "loader_percent": lost,
    }


def table(found: dict[str, Any]) -> str:
    """The goals as a table of Markdown."""
    sizes = (*SIZES, 1024)
    machine = found["machine"]
    lines = [
        f"{machine['processor']}, native: {machine['engines']['native']}; "
        f"all figures in [{OUTPUT.name}](runs/{OUTPUT.name})."
    ]
    share = found["disturbance"]
    if share is not None and share > DISTURBED:
        lines[0] += f" Disturbed: other processes took {share:.0%} of the processors meanwhile."
    lines += [
        "",
        f"| | {' | '.join(f'{size} px' for size in sizes)} |",
        "| --- | ---: | ---: | ---: |",
    ]
    for goal in GOALS:
        cells = " | ".join(goal.cell(found, size) for size in sizes)
        lines.append(f"| {goal.name} | {cells} |")
    return "\n".join(lines)


def into_page(text: str, found: str) -> str:
    """The page with another table between its two marks."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{found}\n{END}{after}"


def main() -> None:
    """Measure, print, and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="two minutes; stores only with --output"
    )
    parser.add_argument("--output", type=Path, help=f"JSON file, by default {OUTPUT.name} in docs")
    options = parser.parse_args()
    quick = options.quick
    torch.set_num_threads(1)
    torch.manual_seed(0)
    found: dict[str, Any] = {"machine": machine(), "torch_threads": 1}
    with Disturbance() as disturbance:
        for size in (*SIZES, 1024):
            entry: dict[str, Any] = {}
            if size in SIZES:
                entry |= ratios(size, 2.0 if quick else 30.0)
                entry |= beside_a_step(size, 1 if quick or size > 64 else 5)
            entry |= memory(size)
            if size == 224:
                entry |= loader(64 if quick else 400, 2 if quick else 5)
            found[f"{size} px"] = entry
            print(size, {k: v for k, v in entry.items() if not isinstance(v, dict)}, flush=True)
    found["disturbance"] = disturbance.share
    shown = table(found)
    print(shown)
    if quick and options.output is None:
        return
    write_json(options.output or OUTPUT, found)
    page = SPEED / "README.md"
    page.write_text(into_page(page.read_text(), shown))
    print(f"written: {options.output or OUTPUT}, and the table in {page}")


if __name__ == "__main__":
    main()
