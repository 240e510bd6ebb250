"""What one call of the augmentation costs, beside what a user would write instead.

python benchmarks/augmentation.py --output docs/results/speed/augmentation.json

All ways are measured in turns in one process, on the same images and the same numbers of
repetitions, drawing included. Figures are medians over mini-batches; claims are ratios of them.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
from torch import Tensor

import prorandconv as prc
from prorandconv import ops
from prorandconv.ops.block import Block
from prorandconv.ops.eager import EagerOperator

CHANNELS, CLASSES = 3, 10
RANDOM = np.random.default_rng(0)


def numpy_fields(count: int, size: int, alpha: float = 10.0) -> np.ndarray:
    """Gaussian random fields as one writes them first: one full complex FFT each."""
    k = np.fft.fftfreq(size)
    frequency = np.hypot(k[:, None], k[None, :])
    frequency[0, 0] = np.inf
    amplitude = frequency ** (-alpha / 2)
    fields = []
    for _ in range(count):
        noise = np.fft.fft2(RANDOM.normal(size=(size, size)))
        field = np.fft.ifft2(noise * amplitude).real
        fields.append((field - field.mean()) / field.std())
    return np.stack(fields)


def draw_kernel() -> Tensor:
    """Weights of one draw, smoothing included."""
    sigma = RANDOM.uniform(0.01, 1.0)
    return (
        torch.randn(CHANNELS, CHANNELS, 3, 3) / 27**0.5 * prc.functional.gaussian_window(3, sigma)
    )


def obvious(x: Tensor, repeats: int) -> Tensor:
    """The paper's block from stock operators."""
    count, _, size, _ = x.shape
    weight, gamma, beta = draw_kernel(), torch.randn(CHANNELS) / 2, torch.randn(CHANNELS) / 2
    scale = RANDOM.uniform(*prc.transforms.offset_range(size, size))
    offsets = torch.from_numpy(scale * numpy_fields(18, size)).float()
    expanded = offsets.expand(count, -1, -1, -1).contiguous()
    for _ in range(repeats):
        x = torchvision.ops.deform_conv2d(x, expanded, weight, padding=1)
        x = F.instance_norm(x, eps=1e-5) * gamma.view(-1, 1, 1) + beta.view(-1, 1, 1)
        x = torch.tanh(x)
    return x


def undeformed(x: Tensor, repeats: int) -> Tensor:
    """The block without its offsets, from stock operators."""
    weight, gamma, beta = draw_kernel(), torch.randn(CHANNELS) / 2, torch.randn(CHANNELS) / 2
    for _ in range(repeats):
        x = F.conv2d(x, weight, padding=1)
        x = F.instance_norm(x, eps=1e-5) * gamma.view(-1, 1, 1) + beta.view(-1, 1, 1)
        x = torch.tanh(x)
    return x


def with_engine(engine: ops.Engine) -> Callable[[Tensor, int], Tensor]:
    """This library's augmentation, drawing included."""
    transforms = [prc.ProRandConv(repeats=repeats, engine=engine) for repeats in range(1, 11)]
    return lambda x, repeats: transforms[repeats - 1](x)


def training_step(size: int) -> Callable[[Tensor, int], Tensor]:
    """One step of training on the originals alone (ERM), for scale."""
    if size <= 64:
        net: torch.nn.Module = torch.nn.Sequential(
            torch.nn.Conv2d(3, 64, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(64, 128, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.LazyLinear(1024), torch.nn.ReLU(),
            torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, CLASSES),
        )  # fmt: skip
        net(torch.zeros(1, 3, size, size))
    else:
        net = torchvision.models.resnet18(num_classes=CLASSES)
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

    def step(x: Tensor, repeats: int) -> Tensor:
        labels = torch.zeros(len(x), dtype=torch.long)
        with torch.enable_grad():
            loss = F.cross_entropy(net(x), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return loss

    return step


def multiply_add_peak() -> float:
    """Multiply-adds per second of the best large matrix product."""
    best = 0.0
    for side in (512, 1024, 2048):
        a, b = torch.randn(2, side, side)
        for _ in range(5):
            start = time.perf_counter()
            torch.mm(a, b)
            best = max(best, side**3 / (time.perf_counter() - start))
    return best


def merged_multiply_adds(batch: int, size: int, rounds: int) -> list[float]:
    """Multiply-adds of one repetition by the merged operator, for a few draws.

    Only source pixels with a share in an output pixel count, for all pairs of channels.
    """
    x = torch.empty(batch, CHANNELS, size, size)
    counts = []
    for _ in range(rounds):
        params = prc.ProRandConv().draw(x)
        operator = EagerOperator(Block(params.weight, params.offsets, (size, size), "zeros"))
        counts.append(float(sum(channel.count_nonzero() for channel in operator.weights)) * batch)
    return counts


def timed(way: Callable[[Tensor, int], Tensor], x: Tensor, repeats: int) -> float:
    """Seconds of one call; short calls are repeated, so that the others' caches do not count."""
    calls: list[float] = []
    while not calls or (len(calls) < 5 and sum(calls) < 0.1):
        start = time.perf_counter()
        way(x, repeats)
        calls.append(time.perf_counter() - start)
    return statistics.median(calls)


def measure(batch: int, size: int, repeats: list[int], step: bool) -> dict[str, float]:
    """Median seconds per mini-batch of each way, in turns."""
    ways: dict[str, Callable[[Tensor, int], Tensor]] = {
        "obvious": obvious,
        "undeformed": undeformed,
        "eager": with_engine("eager"),
    }
    if prc.engines()["native"].startswith("available"):
        ways["native"] = with_engine("native")
    if step:
        ways["erm_step"] = training_step(size)
    x = torch.rand(batch, CHANNELS, size, size) * 2 - 1
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with torch.no_grad():
        for name, way in ways.items():
            if name != "obvious":
                way(x, 1)
        for number, repeat in enumerate(repeats):
            for name, way in ways.items():
                seconds[name].append(timed(way, x, repeat))
            note = ", ".join(f"{name} {values[-1] * 1e3:.1f}" for name, values in seconds.items())
            print(f"  {number + 1}/{len(repeats)} L = {repeat}: {note} ms", file=sys.stderr)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_memory(engine: str, batch: int, size: int) -> float:
    """Extra memory of one call with ten repetitions, result included, in copies of the batch."""
    code = f"""
import torch, prorandconv as prc
torch.set_num_threads({torch.get_num_threads()})
def read(name):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(name)) * 1024
augment = prc.ProRandConv(repeats=10, engine={engine!r})
augment(torch.rand(2, {CHANNELS}, 16, 16))
x = torch.rand({batch}, {CHANNELS}, {size}, {size})
params = augment.draw(x)
before = read("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
augment(x, params=params)
print((read("VmHWM") - before) / (x.numel() * 4))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(result.stdout)


def main() -> None:
    """Measure, print a table, and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 224])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=10, help="mini-batches at 224 pixels")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-step", action="store_true", help="leave out the training step")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)

    peak = multiply_add_peak()
    results = []
    for size in arguments.sizes:
        rounds = arguments.rounds * (10 if size <= 64 else 1)
        # every number of repetitions equally often: the median is that of L ~ U{1..10}
        repeats = [1 + number % 10 for number in range(rounds)]
        print(f"{size} pixels, {rounds} mini-batches", file=sys.stderr)
        seconds = measure(arguments.batch, size, repeats, not arguments.no_step)
        work = statistics.mean(merged_multiply_adds(arguments.batch, size, 20))
        entry: dict[str, object] = {"size": size, "batch": arguments.batch, "seconds": seconds}
        entry["over_obvious"] = {
            name: seconds["obvious"] / value
            for name, value in seconds.items()
            if name not in ("obvious", "erm_step")
        }
        if "erm_step" in seconds:
            entry["share_of_erm_step"] = {
                name: value / seconds["erm_step"]
                for name, value in seconds.items()
                if name != "erm_step"
            }
        engines = [name for name in ("eager", "native") if name in seconds]
        # the median of L ~ U{1..10} lies at 5.5 repetitions
        entry["share_of_peak"] = {name: 5.5 * work / peak / seconds[name] for name in engines}
        entry["copies_of_the_batch"] = {
            name: peak_memory(name, arguments.batch, size) for name in engines
        }
        results.append(entry)
    report = {
        "command": " ".join(["python", *sys.argv]),
        "machine": {
            "processor": processor(),
            "threads": arguments.threads,
            "multiply_adds_per_second": peak,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "torchvision": torchvision.__version__,
        },
        "results": results,
    }
    text = json.dumps(report, indent=2)
    print(text)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text + "\n")


def processor() -> str:
    """The processor's name, where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
