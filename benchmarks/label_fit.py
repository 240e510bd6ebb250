"""How well labels fit augmented scenes: contrast at their borders, left where they are and moved.

PRORANDCONV_DATA=DIR python benchmarks/label_fit.py    two minutes on one core

Where classes meet, a picture changes. So neighbouring pixels on both sides of a border of labels
differ more than others, the more the better the labels fit. The measure is the ratio of the two,
for scenes of CARLA that have been augmented with new draws of the paper's ranges. As a control,
labels are also moved by the draw before, which is another one of the same kind.
The figures go to docs/results/segmentation/runs/label-fit.json.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import torch
from measuring import machine, write_json
from torch import Tensor

import prorandconv as prc
from prorandconv.functional import displacement, warp_labels
from prorandconv.lab.data import get_benchmark

RESULTS = Path(__file__).parents[1] / "docs" / "results"
OUTPUT = RESULTS / "segmentation" / "runs" / "label-fit.json"
VERSIONS: dict[str, dict[str, Any]] = {"one field per tap": {}, "shared": {"shared_offsets": True}}
REPEATS = (1, 3, 5, 10)
DRAWS = 48
EVERY = 4
"""Of the source's validation scenes, each fourth is measured."""
MARGIN = 24
"""Pixels at the edge that do not count: zeros come in from there."""
OUTSIDE = 255


def scenes() -> tuple[Tensor, Tensor]:
    """Normalised scenes (N, 3, H, W) and the class of each pixel, uint8."""
    found = list(get_benchmark("street").load("carla", "val").batches(1))[::EVERY]
    images, labels = (torch.cat(parts) for parts in zip(*found, strict=True))
    return images, labels.where(labels >= 0, OUTSIDE).to(torch.uint8)


def fit(images: Tensor, labels: Tensor, margin: int = MARGIN) -> float:
    """Mean difference of neighbours across borders of labels, over that of all neighbours."""
    across, everywhere = [], []
    for side in (1, 2):
        length = labels.shape[side] - 1
        one, other = labels.narrow(side, 0, length), labels.narrow(side, 1, length)
        border = (one != other) & (one != OUTSIDE) & (other != OUTSIDE)
        difference = images.diff(dim=side + 1).abs().mean(1)
        inside = (slice(None), slice(margin, -margin or None), slice(margin, -margin or None))
        across.append(difference[inside][border[inside]])
        everywhere.append(difference[inside].flatten())
    return (torch.cat(across).mean() / torch.cat(everywhere).mean()).item()


def measure(
    images: Tensor, labels: Tensor, repeats: int, options: dict[str, Any]
) -> dict[str, Any]:
    """The fit of labels under new draws, and for how many of them moving is better or worse."""
    augment = prc.ProRandConv(repeats=repeats, **options)
    generator = torch.Generator().manual_seed(0)
    before = augment.draw(images, generator=generator)
    rows: dict[str, list[float]] = {"fixed": [], "moved": [], "moved by another draw": []}
    lengths = []
    for _ in range(DRAWS):
        params = augment.draw(images, generator=generator)
        seen = augment(images, draw=params)
        rows["fixed"].append(fit(seen, labels))
        rows["moved"].append(fit(seen, warp_labels(labels, params)))
        rows["moved by another draw"].append(fit(seen, warp_labels(labels, before)))
        lengths.append(displacement(params).norm(dim=0).mean().item())
        before = params
    pairs = list(zip(rows["fixed"], rows["moved"], strict=True))
    return {
        "repeats": repeats,
        "pixels_moved": statistics.fmean(lengths),
        "fit": {name: statistics.fmean(values) for name, values in rows.items()},
        "moved_is_better": sum(moved > fixed for fixed, moved in pairs),
        "moved_is_worse": sum(moved < fixed for fixed, moved in pairs),
        "draws": DRAWS,
    }


def main() -> None:
    """Measure both versions for each number of repetitions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="JSON file to write")
    arguments = parser.parse_args()
    images, labels = scenes()
    found: dict[str, Any] = {"machine": machine(), "scenes": len(images)}
    found |= {"not_augmented": fit(images, labels), "versions": {}}
    for name, options in VERSIONS.items():
        found["versions"][name] = []
        for repeats in REPEATS:
            one = measure(images, labels, repeats, options)
            found["versions"][name].append(one)
            fits = ", ".join(f"{kind} {value:.2f}" for kind, value in one["fit"].items())
            counts = f"{one['moved_is_better']} better, {one['moved_is_worse']} worse"
            print(f"{name}, L = {repeats}: {fits}; {counts} of {DRAWS}", flush=True)
    write_json(arguments.output, found)


if __name__ == "__main__":
    main()
