"""The method in a few minutes: ERM against Pro-RandConv on data that needs no download."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from torch import Tensor

from .. import ProRandConv
from .data import get_benchmark
from .data.images import labelled
from .files import replacing, write_text
from .pictures import picture_rows
from .report.looks import LOOKS
from .run.config import Execution, RunConfig
from .run.display import duration
from .run.result import Result
from .run.training import train

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
    execution = Execution(runs=folder / "runs")
    found: dict[str, list[Result]] = {method: [] for method in METHODS}
    for seed in seeds:
        for method in METHODS:
            own = {"epochs": epochs, "seed": seed, **changes}
            config = RunConfig.paper("digits-mini", "mnist", method, **own)
            found[method].append(train(config, execution))
    rows = _rows(found)
    table = Table(title="accuracy on domains that were never seen, %", title_justify="left")
    table.add_column("domain")
    for name in METHODS.values():
        table.add_column(name, justify="right")
    for domain, figures in rows.items():
        if domain == "average":
            table.add_section()
        table.add_row(NAMES.get(domain, domain), *(_shown(figures[m]) for m in METHODS))
    out.print(table)
    write_text(folder / "results.md", _markdown(rows, epochs, seeds))
    write_text(folder / "results.json", json.dumps(_record(rows, epochs, seeds), indent=1) + "\n")
    _plot(rows, folder)
    with replacing(folder / "augmented.png") as temporary:
        sheet().save(temporary)
    out.print(f"{duration(time.monotonic() - began)}; written to {folder}/:", highlight=False)
    for name in ("results.md", "accuracy.png", "augmented.png"):
        out.print(f"  {folder / name}", highlight=False, soft_wrap=True)
    return 0


def _rows(found: dict[str, list[Result]]) -> dict[str, dict[str, list[float]]]:
    """Accuracies of each seed by domain and method, the average last."""
    first = next(iter(found.values()))[0]
    rows: dict[str, dict[str, list[float]]] = {}
    for domain in first["averaged"]:
        rows[domain] = {
            method: [run["best_validation"]["targets"][domain]["accuracy"] for run in runs]
            for method, runs in found.items()
        }
    rows["average"] = {
        m: [run["best_validation"]["average"] for run in r] for m, r in found.items()
    }
    return rows


def _shown(values: Sequence[float]) -> str:
    mean = statistics.fmean(values)
    return f"{mean:.1f} ± {statistics.stdev(values):.1f}" if len(values) > 1 else f"{mean:.1f}"


def _record(
    rows: dict[str, dict[str, list[float]]], epochs: int, seeds: Sequence[int]
) -> dict[str, Any]:
    return {
        "benchmark": "digits-mini",
        "source": "mnist",
        "network": "lenet",
        "epochs": epochs,
        "seeds": list(seeds),
        "accuracy": rows,
    }


def _markdown(rows: dict[str, dict[str, list[float]]], epochs: int, seeds: Sequence[int]) -> str:
    lines = [
        f"LeNet, trained on 3,000 digits of MNIST for {epochs} epochs; accuracy in %, "
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}.",
        "",
        f"| unseen domain | {' | '.join(METHODS.values())} |",
        f"| --- |{' ---: |' * len(METHODS)}",
    ]
    for domain, figures in rows.items():
        cells = " | ".join(_shown(figures[method]) for method in METHODS)
        lines.append(f"| {NAMES.get(domain, domain)} | {cells} |")
    return "\n".join(lines) + "\n"


def _plot(rows: dict[str, dict[str, list[float]]], folder: Path) -> None:
    """Bars by domain; the two colours differ in lightness too."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(rows))
    for method, shift in {"erm": -0.2, "pro-randconv": 0.2}.items():
        colour = LOOKS[METHODS[method]].colour
        means = [statistics.fmean(figures[method]) for figures in rows.values()]
        spreads = [
            statistics.stdev(figures[method]) if len(figures[method]) > 1 else 0.0
            for figures in rows.values()
        ]
        error = spreads if any(spreads) else None
        name = METHODS[method]
        bars = axes.bar(places + shift, means, 0.38, yerr=error, color=colour, label=name)
        axes.bar_label(bars, fmt="%.0f", padding=2)
    axes.set_xticks(places, [fill(NAMES.get(name, name), 15) for name in rows])
    axes.set_xlim(-1.0, len(rows) - 0.5)
    axes.axhline(10, color="black", linewidth=0.8, linestyle=":")
    axes.annotate("chance", (-0.97, 11), fontsize=8)
    axes.set_ylabel("accuracy, %")
    axes.set_ylim(0, 105)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Trained on MNIST, tested on domains never seen", loc="left")
    axes.legend(frameon=False, loc="upper right", ncols=2)
    for ending in ("png", "svg"):
        with replacing(folder / f"accuracy.{ending}") as temporary:
            figure.savefig(temporary, dpi=150)


def sheet(*, draws: int = 7, seed: int = 0) -> Image.Image:
    """Ten digits as they are, and each row of them once more under one draw of Pro-RandConv.

    Args:
        draws: how many draws, a row each.
        seed: of the draws.
    """
    images = labelled(get_benchmark("digits-mini").load("mnist", "train"))
    first = torch.stack([(images.labels == digit).nonzero()[0, 0] for digit in range(10)])
    (pixels,) = images.stored([first])
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
