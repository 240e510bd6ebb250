"""The method in a few minutes: ERM against Pro-RandConv on data that needs no download."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from rich.console import Console
from torch import Tensor

from .. import ProRandConv
from .data import get_benchmark
from .data.images import labelled
from .files import replacing, write_bytes, write_text
from .report.curves import render
from .report.formats import markdown, print_grid
from .report.grid import grid_of
from .report.plots import table_plot
from .run.config import Execution, RunConfig
from .run.display import duration
from .run.training import train
from .sheets import picture_rows
from .study.table import AVERAGE, Cell, Table

METHODS = {"erm": "ERM", "pro-randconv": "Pro-RandConv"}
NAMES = {
    "optdigits": "optdigits (scans, 8 px)",
    "mnist_m_like": "MNIST over photos",
    "fonts": "typefaces",
    "numbers": "house numbers, rendered",
}


def quickstart(
    out: Console, folder: Path, *, epochs: int, seeds: Sequence[int], **changes: Any
) -> int:
    """Train both methods, print their accuracies side by side, and write table, plot and sheet.

    Args:
        out: where to print.
        folder: where to write; runs that are there are not trained again.
        epochs: of each run.
        seeds: a pair of runs for each.
        changes: further fields of the runs' config.
    """
    began = time.monotonic()
    table = compare(Execution(runs=folder / "runs"), epochs, seeds, changes)
    grid = grid_of(table, full=False)
    print_grid(out, grid)
    write_text(folder / "results.md", f"{grid.title}\n\n{markdown(grid)}")
    write_text(folder / "results.json", json.dumps(_record(table, epochs), indent=1) + "\n")
    figure = table_plot(table)
    assert figure is not None
    write_bytes(folder / "accuracy.png", render(figure, "png"))
    write_bytes(folder / "accuracy.svg", render(figure, "svg"))
    with replacing(folder / "augmented.png") as temporary:
        sheet().save(temporary)
    out.print(f"{duration(time.monotonic() - began)}; written to {folder}/:")
    for name in ("results.md", "accuracy.png", "augmented.png"):
        out.print(f"  {folder / name}", soft_wrap=True)
    return 0


def compare(
    execution: Execution, epochs: int, seeds: Sequence[int], changes: dict[str, Any]
) -> Table:
    """Train both methods and put their accuracies into a table."""
    results = {}
    for seed in seeds:
        for method, name in METHODS.items():
            own = {"epochs": epochs, "seed": seed, **changes}
            config = RunConfig.paper("digits-mini", "mnist", method, **own)
            results[name, seed] = train(config, execution)["best_validation"]["targets"]
    domains = tuple(next(iter(results.values())))
    cells = {
        (row, NAMES.get(name, name)): Cell(
            tuple(results[row, seed][name]["accuracy"] for seed in seeds)
        )
        for row in METHODS.values()
        for name in domains
    }
    columns = tuple(NAMES.get(name, name) for name in domains)
    return Table(
        "quickstart",
        f"LeNet, trained on 3,000 digits of MNIST for {epochs} epochs; accuracy on unseen domains",
        "",
        tuple(METHODS.values()),
        columns,
        tuple(seeds),
        cells,
        baseline="ERM",
        averaged=columns,
    )


def _record(table: Table, epochs: int) -> dict[str, Any]:
    """What results.json holds: accuracies by domain, method and seed."""
    domains = {name: domain for domain, name in NAMES.items()} | {AVERAGE: "average"}
    accuracy = {
        domains.get(column, column): {
            method: list(table.values(row, column)) for method, row in METHODS.items()
        }
        for column in (*table.columns, AVERAGE)
    }
    run = {"benchmark": "digits-mini", "source": "mnist", "network": "lenet", "epochs": epochs}
    return run | {"seeds": list(table.seeds), "accuracy": accuracy}


def sheet(*, draws: int = 7, seed: int = 0) -> Image.Image:
    """Ten digits as they are, and each row of them once more under one draw of Pro-RandConv.

    Args:
        draws: how many draws, a row each.
        seed: of the draws.
    """
    images = labelled(get_benchmark("digits-mini").load("mnist", "train"))
    first = torch.stack([(images.labels == digit).nonzero()[0, 0] for digit in range(10)])
    pixels = images.stacked(first)
    x = pixels.expand(-1, 3, -1, -1).float() / 127.5 - 1
    generator = torch.Generator().manual_seed(seed)
    augment = ProRandConv()
    rows: list[tuple[str, Tensor]] = [("original", x)]
    for _ in range(draws):
        params = augment.draw(x, generator)
        rows.append((f"L = {params.repeats}", augment(x, draw=params)))
    return picture_rows(
        [(name, ((batch.clamp(-1, 1) + 1) * 127.5).round().byte()) for name, batch in rows]
    )
