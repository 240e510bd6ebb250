"""Where the time of a mini-batch goes: the native engine's functions, Python, torch.

python benchmarks/shares.py              a minute; needs Linux's perf
python benchmarks/shares.py --seconds 5  to try it

64 images of 32 pixels, L = 1 to 10 in equal shares, drawing included, one thread. perf tells which
function the processor is in, so that others who take turns on it change little but the caches. The
shares go to docs/results/speed/runs/shares.json.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from candidates import with_engine
from cells import ORDER, Cell
from measuring import Disturbance, machine, write_json

OUTPUT = Path(__file__).parents[1] / "docs" / "results" / "speed" / "runs" / "shares.json"
PARTS = {
    "convolve": "multiply-adds",
    "contrast_row": "standardise, affine, tanh",
    "write_images": "the last tanh, and images out of lanes",
    "read_images": "images into lanes",
    "statistics": "statistics",
    "compute_contrast": "statistics",
    "operator": "building the operator",
    "scan_offsets": "building the operator",
}
"""Parts of the kernel by what the names of their functions contain."""


def part_of(library: str, function: str) -> str:
    """What a function is counted as."""
    if library.startswith("_native"):
        return next((part for name, part in PARTS.items() if name in function), "rest of kernel")
    return "torch" if library.startswith(("libtorch", "libc10")) else "Python and the system"


def sampled(seconds: float, into: Path) -> float:
    """Augment under perf; milliseconds of processor time for a mini-batch."""
    x, augment, calls = Cell(32, 64).images(), with_engine("native"), 0
    augment(x, 1)
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "4000", "-o", str(into)]
    perf = subprocess.Popen([*record, "-p", str(os.getpid())], stderr=subprocess.DEVNULL)
    time.sleep(1)
    began = time.process_time()
    while time.process_time() < began + seconds:
        for repeats in ORDER:
            augment(x, repeats)
        calls += len(ORDER)
    used = time.process_time() - began
    perf.send_signal(signal.SIGINT)
    perf.wait()
    return 1000 * used / calls


def shares(samples: Path) -> dict[str, float]:
    """Percent of the samples in each part, the largest first."""
    report = ["perf", "report", "-i", str(samples), "--no-children", "--sort", "dso,symbol"]
    lines = subprocess.run(
        [*report, "-t", "|", "--stdio"], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, float] = defaultdict(float)
    for line in lines.splitlines():
        if line.strip() and not line.startswith("#"):
            percent, library, function, *_ = line.split("|")
            found[part_of(library.strip(), function)] += float(percent.strip().rstrip("%"))
    return {
        part: round(percent, 1)
        for part, percent in sorted(found.items(), key=lambda entry: -entry[1])
    }


def main() -> None:
    """Measure, print, and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="of processor time")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    found: dict[str, Any] = {"machine": machine(), "seconds": options.seconds}
    with (
        torch.no_grad(),
        tempfile.TemporaryDirectory() as folder,
        Disturbance() as disturbance,
    ):
        samples = Path(folder) / "perf.data"
        found["milliseconds"] = sampled(options.seconds, samples)
        found["percent"] = shares(samples)
    found["disturbance"] = disturbance.share
    print(found)
    write_json(options.output, found)


if __name__ == "__main__":
    main()
