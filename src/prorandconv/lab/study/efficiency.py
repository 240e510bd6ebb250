"""What training with each method costs, and using the network afterwards (Table 5)."""

from __future__ import annotations

import json
import multiprocessing
import platform
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ..data import Options, get_benchmark
from ..files import write_text
from ..models import macs
from ..paper import Row
from ..progress import progress
from ..run.config import RunConfig
from ..run.directory import RESULT
from ..run.environment import device_of
from ..run.stored import read_result
from .estimate import Step
from .scenario import Scenario
from .settings import Settings
from .table import Cell, Table, mean_of_all

ROUNDS = 5
STEPS = 15
"""Of each method in each round; the round's figure is their median."""

QUANTITIES = {
    "memory": "training memory, GB",
    "time": "training step, ms",
    "macs": "MACs, M",
    "inference": "inference, ms",
}
RATIOS = ("memory", "time", "inference")

Figures = Mapping[str, Sequence[float]]
"""By quantity: one figure for each round."""


def measure(settings: Settings, runs: Path, accelerator: str) -> tuple[Table, ...]:
    """Measure on the device at hand, or read what was measured before.

    Args:
        settings: benchmark and network, where they are not to be the paper's.
        runs: folder of all runs; ``measured.json`` is kept in that of the study.
        accelerator: auto, cpu, cuda or mps.
    """
    path = runs / "studies" / "efficiency" / settings.hash / "measured.json"
    device = device_of(accelerator)
    options = Options(image_size=settings.image_size)
    benchmark = get_benchmark(settings.benchmark or "digits", settings.data_root, options)
    scenario = Scenario(settings, benchmark, (*settings.networks, benchmark.network)[0])
    rows = [_named(row) for row in scenario.rows("Table 5")]
    if not path.exists():
        configs = {row.name: scenario.config(row, benchmark.domains[0]) for row in rows}
        stored = {"device": _described(device), "figures": _measured(configs, device)}
        write_text(path, json.dumps(stored, indent=1) + "\n")
    stored = json.loads(path.read_text())
    where = f"{scenario.network}, mini-batches of 64 images of {benchmark.image_size} pixels"
    accuracies = _accuracies(scenario, rows, runs)
    return (*_tables(rows, stored["figures"], where, stored["device"]), *accuracies)


def _accuracies(scenario: Scenario, rows: Sequence[Row], runs: Path) -> tuple[Table, ...]:
    """The table's column of accuracies, from runs that other studies have done; none: no table."""
    seeds = scenario.settings.all_seeds
    cells, known = {}, False
    for row in rows:
        values: list[float | None] = []
        for seed in seeds if scenario.usable else ():
            readings = scenario.single(row)
            paths = [replace(one.config, seed=seed).directory(runs) / RESULT for one in readings]
            results = [read_result(path) if path.exists() else None for path in paths]
            pairs = zip(readings, results, strict=True)
            values.append(mean_of_all([None if r is None else one.value(r) for one, r in pairs]))
        known |= any(value is not None for value in values)
        cells[row.name, "accuracy"] = Cell(tuple(values), row.values.get("accuracy"))
    if not known:
        return ()
    title = "Accuracy on unseen domains of the same methods, from the runs that are done"
    names = tuple(row.name for row in rows)
    notes = ("`prorandconv study digits` does most of these runs", *scenario.notes)
    table = Table(
        "efficiency-accuracy", title, "Table 5", names, ("accuracy",), seeds, cells, notes=notes
    )
    return (table,)


def _named(row: Row) -> Row:
    """The table's "+ RC Block" is what the other tables call Pro-RandConv."""
    return replace(row, name="Pro-RandConv") if row.method == "pro-randconv" else row


def _measured(configs: Mapping[str, RunConfig], device: torch.device) -> dict[str, Any]:
    """Figures by row: times in turns, so that a busy moment hits all methods alike."""
    steps = {name: Step(config, device) for name, config in configs.items()}
    figures: dict[str, dict[str, list[float]]] = {
        name: {quantity: [] for quantity in QUANTITIES} for name in configs
    }
    for step in steps.values():
        step.train()
        step.infer()
    with progress("measuring", ROUNDS * STEPS, unit="steps of each") as advance:
        for _ in range(ROUNDS):
            times: list[tuple[str, str, float]] = []
            for _ in range(STEPS):
                for name, step in steps.items():
                    times += [(name, "time", step.train()), (name, "inference", step.infer())]
                advance(1)
            for name in steps:
                for quantity in ("time", "inference"):
                    own = [seconds for n, q, seconds in times if (n, q) == (name, quantity)]
                    figures[name][quantity].append(1000 * statistics.median(own))
    for name, config in configs.items():
        counted = macs(steps[name].network, config.identity.image_size) / 1e6
        figures[name]["macs"] = [counted] * ROUNDS
        figures[name]["memory"] = [_memory_in_fresh_process(config, device)] * ROUNDS
    return figures


def _memory_in_fresh_process(config: RunConfig, device: torch.device) -> float:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        peak = process.submit(peak_memory, config, device)
        return peak.result()


def peak_memory(config: RunConfig, device: torch.device) -> float:
    """Gigabytes that a few training steps need at most.

    On CUDA what torch has allocated, elsewhere what the process has resident, Python and torch
    included.
    """
    step = Step(config, device)
    for _ in range(5):
        step.train()
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return _peak_resident() / 1e9


def _peak_resident() -> int:
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's peak in ru_maxrss
        lines = status.read_text().splitlines()
        peak = next(line for line in lines if line.startswith("VmHWM"))
        return 1024 * int(peak.split()[1])
    import resource

    peak_unit = 1 if platform.system() == "Darwin" else 1024
    return peak_unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _described(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device} with {torch.get_num_threads()} thread(s)"


def _tables(
    rows: Sequence[Row], figures: Mapping[str, Figures], where: str, device: str
) -> tuple[Table, ...]:
    erm = next(row for row in rows if row.method == "erm")
    rounds = tuple(range(len(figures[erm.name]["time"])))
    notes = (
        f"{where}; measured on {device}, the paper on an RTX A5000",
        f"times: medians of {STEPS} steps, the methods in turns; ± over {len(rounds)} rounds; "
        "memory (of a fresh process, or what torch allocates on CUDA) and MACs: once",
    )

    def ratio(row: Row, quantity: str) -> Cell:
        own, base = figures[row.name][quantity], figures[erm.name][quantity]
        ours = tuple(a / b for a, b in zip(own, base, strict=True))
        paper = row.values[quantity] / erm.values[quantity] if row.values else None
        return Cell(ours, paper)

    names = tuple(row.name for row in rows)
    absolute = Table(
        "efficiency",
        "Cost of training and inference",
        "Table 5",
        names,
        tuple(QUANTITIES.values()),
        rounds,
        {
            (row.name, label): Cell(tuple(figures[row.name][quantity]), row.values.get(quantity))
            for row in rows
            for quantity, label in QUANTITIES.items()
        },
        unit="",
        notes=notes,
    )
    relative = Table(
        "efficiency-ratios",
        "Cost over ERM's",
        "Table 5",
        names,
        tuple(QUANTITIES[quantity].partition(",")[0] for quantity in RATIOS),
        rounds,
        {
            (row.name, QUANTITIES[quantity].partition(",")[0]): ratio(row, quantity)
            for row in rows
            for quantity in RATIOS
        },
        unit="×",
        notes=notes,
    )
    return absolute, relative
