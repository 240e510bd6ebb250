"""Augmenting volumes, against the naive way with grid_sample: seconds as ratios, and memory.

Run: python benchmarks/volumes.py [--threads 1 2] [--output docs/results/speed/runs/volumes.json]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from measuring import Disturbance, machine, spread, timed, write_json
from memory import counter
from torch import Tensor

import prorandconv as prc

CELLS = {"1 of 64x64x64": (1, 1, 64, 64, 64), "1 of 24x96x96": (1, 1, 24, 96, 96)}
REPEATS = (1, 5)
ROUNDS = 3
Call = Callable[[Tensor, int], Tensor]


def naive_fields(count: int, size: tuple[int, ...], alpha: float = 10.0) -> Tensor:
    """Random fields as one writes them first: the inverse FFT of noise, on the enclosing cube."""
    side = max(size)
    axis = torch.fft.fftfreq(side)
    k = (axis[:, None, None] ** 2 + axis[:, None] ** 2 + axis**2).sqrt()
    k[0, 0, 0] = torch.inf
    fields = []
    for _ in range(count):
        noise = torch.fft.fftn(torch.randn(side, side, side))
        field = torch.fft.ifftn(noise * k ** (-alpha / 2)).real
        field = field[: size[0], : size[1], : size[2]]
        fields.append((field - field.mean()) / field.std())
    return torch.stack(fields)


def naive(x: Tensor, repeats: int) -> Tensor:
    """The block of volumes as one writes it first: one grid_sample for each of 27 taps."""
    channels, size = x.shape[1], tuple(x.shape[2:])
    window = prc.functional.gaussian_window(3, float(torch.rand(()) + 0.01), spatial_dims=3)
    weight = torch.randn(channels, channels, 3, 3, 3) / (27 * channels) ** 0.5 * window
    offsets = 0.2 * float(torch.rand(())) * naive_fields(81, size).view(27, 3, *size)
    gamma, beta = torch.randn(2, channels, 1, 1, 1) / 2
    here = torch.stack(torch.meshgrid(*(torch.arange(side) for side in size), indexing="ij"))
    half = torch.tensor(size).view(3, 1, 1, 1) / 2
    for _ in range(repeats):
        result = torch.zeros_like(x)
        for tap in range(27):
            i, j, m = tap // 9, tap // 3 % 3, tap % 3
            place = torch.tensor((i, j, m)).view(3, 1, 1, 1) - 1
            grid = ((here + place + offsets[tap] + 0.5) / half - 1).flip(0).movedim(0, -1)
            sampled = F.grid_sample(x, grid.expand(len(x), -1, -1, -1, -1), align_corners=False)
            result += torch.einsum("oc,nc...->no...", weight[:, :, i, j, m], sampled)
        x = torch.tanh(F.instance_norm(result) * gamma + beta)
    return x


def eager(x: Tensor, repeats: int) -> Tensor:
    """This library's augmentation, drawing included."""
    return prc.ProRandConv(spatial_dims=3, repeats=repeats, engine="eager")(x)


WAYS: dict[str, Call] = {"naive": naive, "eager": eager}


def measure(shape: tuple[int, ...], repeats: int) -> dict[str, Any]:
    """Seconds of both ways, in turns, drawing included."""
    x = torch.rand(shape) * 2 - 1
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way, call in WAYS.items():
            times[way].append(timed(lambda call=call: call(x, repeats)))
    found: dict[str, Any] = {way: spread(values) for way, values in times.items()}
    return found | {"ratio": found["naive"]["median"] / found["eager"]["median"]}


def copies(way: str, shape: tuple[int, ...]) -> float:
    """Memory at its peak in copies of the volume, in a process whose allocations are counted."""
    environment = {**os.environ, "LD_PRELOAD": str(counter())}
    arguments = ["--memory", way, *map(str, shape)]
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def _child(way: str, *shape: str) -> float:
    count = ctypes.CDLL(None)
    count.allocations_live.restype = count.allocations_highest.restype = ctypes.c_long
    torch.manual_seed(0)
    WAYS[way](torch.rand(1, 1, 6, 6, 6), 2)
    x = torch.rand(tuple(map(int, shape)))
    before = count.allocations_live()
    count.allocations_restart()
    WAYS[way](x, 2)
    return (count.allocations_highest() - before) / x.nbytes


def main() -> None:
    """Measure every volume, by default with one thread and with two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="JSON file to write")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=(1, 2), help="one after the other"
    )
    parser.add_argument("--memory", nargs=6, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory is not None:
        print(json.dumps(_child(*arguments.memory)))
        return
    found: dict[str, Any] = {"machine": machine(), "cells": []}
    with Disturbance() as disturbance:
        for name, shape in CELLS.items():
            memory = {way: copies(way, shape) for way in WAYS}
            print(f"{name}: copies of the volume: {memory}", flush=True)
            for threads in arguments.threads:
                torch.set_num_threads(threads)
                for repeats in REPEATS:
                    cell = {"volumes": name, "threads": threads, "repeats": repeats}
                    cell |= measure(shape, repeats) | {"copies": memory}
                    found["cells"].append(cell)
                    print(
                        f"{name}, {threads} thread(s), L = {repeats}: {cell['ratio']:.1f} times "
                        "as fast as the naive way",
                        flush=True,
                    )
    found["disturbance"] = disturbance.share
    if arguments.output is not None:
        write_json(arguments.output, found)


if __name__ == "__main__":
    main()
