"""What moving the labels costs on top of the augmentation itself, as ratios.

Run: python benchmarks/labels.py [--output docs/results/speed/runs/labels.json]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from measuring import Disturbance, machine, spread, timed, write_json

import prorandconv as prc
from prorandconv.functional import warp_labels

CELLS = {
    "8 of 512x1024": (8, 512, 1024),
    "8 of 224x224": (8, 224, 224),
    "64 of 32x32": (64, 32, 32),
}
DTYPES = {"uint8": torch.uint8, "int64": torch.int64}
ROUNDS = 2
"""Of L = 1 to 10 each."""
SHORT: dict[str, Any] = {"calls": 15, "until": 0.1}
"""Calls shorter than that are repeated."""


def measure(shape: tuple[int, int, int], shared: bool) -> dict[str, Any]:
    """Seconds of augmenting a batch, draw included, and of moving its labels, in turns."""
    count, height, width = shape
    x = torch.rand(count, 3, height, width) * 2 - 1
    classes = torch.randint(0, 19, shape)
    times: dict[str, list[float]] = {name: [] for name in ("augment", *DTYPES)}
    for _ in range(ROUNDS):
        for repeats in range(1, 11):
            augment = prc.ProRandConv(repeats=repeats, shared_offsets=shared)
            times["augment"].append(timed(lambda augment=augment: augment(x), **SHORT))
            for name, dtype in DTYPES.items():
                # A draw keeps what was made of it: each call moves labels by another one.
                new = iter([augment.draw(x) for _ in range(SHORT["calls"])])
                labels = classes.to(dtype)
                times[name].append(
                    timed(lambda y=labels, new=new: warp_labels(y, next(new)), **SHORT)
                )
    whole = sum(times["augment"])
    found: dict[str, Any] = {name: spread(values) for name, values in times.items()}
    return found | {"ratio": {name: 1 + sum(times[name]) / whole for name in DTYPES}}


def main() -> None:
    """Measure every batch with one thread and with two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "cells": []}
    with Disturbance() as disturbance:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for shared in (False, True):
                for name, shape in CELLS.items():
                    cell = {"batch": name, "threads": threads, "shared_offsets": shared}
                    cell |= measure(shape, shared)
                    found["cells"].append(cell)
                    ratios = ", ".join(f"{k} {v:.2f}" for k, v in cell["ratio"].items())
                    print(f"{name}, {threads} thread(s), shared {shared}: {ratios}", flush=True)
    found["disturbance"] = disturbance.share
    if arguments.output is not None:
        write_json(arguments.output, found)


if __name__ == "__main__":
    main()
