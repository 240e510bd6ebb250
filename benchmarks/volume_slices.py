"""A picture of slices through a drawn scan and its augmented copies.

Run: python benchmarks/volume_slices.py [--output docs/volumes.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor

import prorandconv as prc
from prorandconv.lab.sheets import picture_rows

SIZE = (48, 96, 96)
PLANES = (8, 16, 24, 32, 40)
ELLIPSOIDS = (
    # grey, centre and half axes along depth, rows and columns, in sides of the volume
    (0.75, (0.5, 0.5, 0.5), (0.46, 0.42, 0.34)),
    (0.45, (0.5, 0.5, 0.5), (0.42, 0.38, 0.30)),
    (0.15, (0.5, 0.45, 0.38), (0.25, 0.20, 0.08)),
    (0.15, (0.5, 0.45, 0.62), (0.25, 0.20, 0.08)),
    (0.95, (0.35, 0.68, 0.50), (0.12, 0.07, 0.10)),
    (0.60, (0.65, 0.30, 0.50), (0.20, 0.06, 0.14)),
)


def scan() -> Tensor:
    """A head of ellipsoids with some texture, (1, D, H, W) in [-1, 1]."""
    axes = [(torch.arange(side) + 0.5) / side for side in SIZE]
    here = torch.stack(torch.meshgrid(*axes, indexing="ij"))
    grey = torch.zeros(SIZE)
    for shade, centre, half in ELLIPSOIDS:
        away = (here - torch.tensor(centre).view(3, 1, 1, 1)) / torch.tensor(half).view(3, 1, 1, 1)
        grey[away.square().sum(0) < 1] = shade
    texture = prc.gaussian_random_field(
        1, SIZE, alpha=3.0, generator=torch.Generator().manual_seed(0)
    )
    return ((grey + 0.04 * texture * (grey > 0)).clamp(0, 1) * 2 - 1).view(1, *SIZE)


def slices(volume: Tensor) -> Tensor:
    """Some planes of a volume as pictures (planes, 3, H, W) of bytes."""
    grey = ((volume[0, list(PLANES)] + 1) * 127.5).round().to(torch.uint8)
    return grey.unsqueeze(1).expand(-1, 3, -1, -1)


def main() -> None:
    """Draw a row of planes for the scan and for each draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("docs/volumes.png"))
    arguments = parser.parse_args()
    generator, volume = torch.Generator().manual_seed(0), scan()
    rows = [("scan", slices(volume))]
    for number in range(1, 5):
        augment = prc.ProRandConv(spatial_dims=3)
        params = augment.draw(volume, generator)
        augmented = augment(volume, draw=params)
        rows.append((f"draw {number}, L = {params.repeats}", slices(augmented)))
    picture_rows(rows, name_width=120, largest_tile=SIZE[-1]).save(arguments.output, optimize=True)


if __name__ == "__main__":
    main()
