"""What it saves that a run keeps the memory which tensors free, as ratios.

Run: python benchmarks/kept_memory.py [--output docs/results/speed/runs/kept_memory.json]

The same steps of the same network, in turns in two processes: one returns freed memory to the
system, as glibc does by default, the other keeps it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from measuring import machine, write_json

from prorandconv.lab.models import build_classifier
from prorandconv.lab.run.environment import autocast, keep_freed_memory

CELLS = {
    "lenet, 128 of 32x32, 32-true": ("lenet", 128, 32, "32-true"),
    "lenet, 128 of 32x32, bf16-mixed": ("lenet", 128, 32, "bf16-mixed"),
    "resnet18, 128 of 128x128, bf16-mixed": ("resnet18", 128, 128, "bf16-mixed"),
}
"""Original and augmented images of mini-batches of 64."""
ROUNDS = 5
STEPS = 2


def steps(pipe: Connection, keep: bool, cell: tuple[str, int, int, str]) -> None:
    """Seconds of a step, whenever they are asked for; the largest memory at the end."""
    torch.set_num_threads(1)
    if keep:
        keep_freed_memory()
    name, count, size, precision = cell
    network = build_classifier(name, classes=10, image_size=size).to(
        memory_format=torch.channels_last
    )
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    x, labels = torch.randn(count, 3, size, size), torch.randint(10, (count,))
    while pipe.recv():
        began = time.perf_counter()
        for _ in range(STEPS):
            optimiser.zero_grad()
            with autocast(x.device, precision):
                loss = F.cross_entropy(network(x), labels)
            loss.backward()
            optimiser.step()
        pipe.send((time.perf_counter() - began) / STEPS)
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(cell: tuple[str, int, int, str]) -> dict[str, Any]:
    """Median seconds of a step in either process, and the ratios."""
    spawn = multiprocessing.get_context("spawn")
    pipes, times = {}, {}
    for way, keep in (("returned", False), ("kept", True)):
        pipes[way], theirs = spawn.Pipe()
        spawn.Process(target=steps, args=(theirs, keep, cell), daemon=True).start()
        times[way] = []
    for number in range(ROUNDS + 1):
        for way, pipe in pipes.items():
            pipe.send(True)
            seconds = pipe.recv()
            if number:  # the first one warms up
                times[way].append(seconds)
    found: dict[str, Any] = {}
    for way, pipe in pipes.items():
        pipe.send(False)
        found[way] = {"step_s": statistics.median(times[way]), "memory_mb": pipe.recv()}
    found["speed_up"] = found["returned"]["step_s"] / found["kept"]["step_s"]
    found["memory_ratio"] = found["kept"]["memory_mb"] / found["returned"]["memory_mb"]
    return found


def main() -> None:
    """Measure every network with one thread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "cells": {}}
    for name, cell in CELLS.items():
        found["cells"][name] = own = measure(cell)
        print(
            f"{name}: {own['speed_up']:.2f} times as fast, "
            f"{own['memory_ratio']:.2f} times the memory",
            flush=True,
        )
    if arguments.output is not None:
        write_json(arguments.output, found)


if __name__ == "__main__":
    main()
