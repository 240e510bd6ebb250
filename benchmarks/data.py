"""Throughput of the lab's data against what one would write instead, as ratios in one run.

Run: python benchmarks/data.py [--data-root DIR] [--output docs/results/speed/runs/data.json]

- digits: batches of MNIST's 10,000 training images from memory, against a torchvision data set
  with the usual transforms of each image in a ``DataLoader``;
- pacs: an epoch over photos from a warm cache, against decoding them in every epoch.

Without the real data, generated images of the same sizes take their place.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import Disturbance, machine, timed, write_json
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

from prorandconv.lab.data import Images, Options, get_benchmark

BATCH = 64
ROUNDS = 3


class PerImage(Dataset[tuple[torch.Tensor, int]]):
    """A torchvision-style data set: a Pillow image and its transforms for each item."""

    def __init__(self, images: np.ndarray, labels: torch.Tensor) -> None:
        self.images = images
        self.labels = labels
        self.transform = v2.Compose(
            [
                v2.Resize((32, 32)),
                v2.Grayscale(3),
                v2.PILToTensor(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize((0.5,) * 3, (0.5,) * 3),
            ]
        )

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(Image.fromarray(self.images[index])), int(self.labels[index])

    def __len__(self) -> int:
        return len(self.labels)


def seconds(epoch: Callable[[], Iterable[object]], rounds: int = ROUNDS) -> float:
    """Median time of going once through an iterable."""
    return timed(lambda: deque(epoch(), maxlen=0), calls=rounds, until=float("inf"))


def digits(root: Path) -> dict[str, Any]:
    """Digits from memory against per-image transforms."""
    benchmark = get_benchmark("digits", root)
    if "mnist" in benchmark.present():
        stored = benchmark.domain("mnist").read("train")  # type: ignore[attr-defined]
        images, labels = stored.images[:10_000], torch.from_numpy(stored.labels[:10_000])
    else:
        print("digits: MNIST is missing, generated images of its size are used")
        images = np.random.default_rng(0).integers(0, 256, (10_000, 28, 28), dtype=np.uint8)
        labels = torch.arange(10_000) % 10
    ours: Images = Images.in_memory(
        torch.from_numpy(images)[:, None],
        labels,
        classes=benchmark.classes,
        split="train",
        format=benchmark.format,
    )
    generator = torch.Generator().manual_seed(0)
    own = seconds(lambda: ours.batches(BATCH, generator=generator), rounds=15)
    print(f"digits: {len(ours) / own:12,.0f} images/s from memory")
    found: dict[str, Any] = {
        "generated": "mnist" not in benchmark.present(),
        "images_per_second": len(ours) / own,
    }
    for workers in (0, 2):
        loader = DataLoader(
            PerImage(images, labels), batch_size=BATCH, shuffle=True, num_workers=workers
        )
        theirs = seconds(lambda loader=loader: loader)
        print(
            f"digits: {len(ours) / theirs:12,.0f} images/s by a DataLoader with {workers} workers: "
            f"ours is {theirs / own:.0f} times as fast"
        )
        found[f"data_loader_with_{workers}_workers"] = {
            "images_per_second": len(ours) / theirs,
            "ours_over_it": theirs / own,
        }
    return found


def photos(root: Path, count: int) -> dict[str, Any]:
    """Photos from a warm cache against decoding in every epoch."""
    with tempfile.TemporaryDirectory() as made:
        benchmark = get_benchmark("pacs", root)
        generated = "photo" not in benchmark.present()
        if generated:
            print("pacs: PACS is missing, generated JPEGs of its size are used")
            classes = get_benchmark("pacs", root).classes
            generate_photos(Path(made) / "pacs" / "photo", classes, count // 7)
            root = Path(made)
        cold = get_benchmark("pacs", root, Options(cache_bytes=0)).load("photo", "test")
        warm = get_benchmark("pacs", root).load("photo", "test")
        workers = cold.options.processes
        decoding = seconds(lambda: cold.batches(BATCH))
        for _ in warm.batches(BATCH):
            pass
        cached = seconds(lambda: warm.batches(BATCH))
        print(f"pacs:   {len(warm) / cached:12,.0f} images/s from a warm cache")
        print(
            f"pacs:   {len(cold) / decoding:12,.0f} images/s decoding in every epoch "
            f"with {workers} workers: the cache is {decoding / cached:.1f} times as fast"
        )
        return {
            "generated": generated,
            "images": len(warm),
            "cached_images_per_second": len(warm) / cached,
            "decoding_images_per_second": len(cold) / decoding,
            "decoding_workers": workers,
            "cache_over_decoding": decoding / cached,
        }


def generate_photos(root: Path, classes: Sequence[str], count: int, side: int = 227) -> None:
    """Smooth random JPEGs, ``count`` for each class, in folders named after the classes."""
    random = np.random.default_rng(0)
    for name in classes:
        folder = root / name
        folder.mkdir(parents=True)
        for number in range(count):
            coarse = random.integers(0, 256, (29, 29, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((side, side)).save(folder / f"{number}.jpg")


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=os.environ.get("PRORANDCONV_DATA"))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--photos", type=int, default=700, help="how many to generate")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    root = Path(arguments.data_root or "data")
    print(f"torch {torch.__version__}, {arguments.threads} thread(s), batches of {BATCH}")
    found: dict[str, Any] = {"machine": machine(), "batch_size": BATCH}
    with Disturbance() as disturbance:
        found["digits"] = digits(root)
        found["pacs"] = photos(root, arguments.photos)
    found["disturbance"] = disturbance.share
    if arguments.output is not None:
        write_json(arguments.output, found)


if __name__ == "__main__":
    main()
