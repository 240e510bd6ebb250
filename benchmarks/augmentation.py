"""What one call of the augmentation costs, beside what a user would write instead.

python benchmarks/augmentation.py            about a quarter of an hour; leave the machine alone
python benchmarks/augmentation.py --quick    a minute, to try it
python benchmarks/augmentation.py --device cuda    the same on a GPU (or mps)

All candidates are measured in turns in one process, on the same images and the same numbers of
repetitions, drawing included. Figures are medians over mini-batches; claims are ratios of them.
Interrupted and started again, it resumes after the last finished measurement.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from candidates import CANDIDATES, Call, training_step
from cells import Cell, Plan, Store, measure, rates
from limits import bytes_moved, seconds_at_peak
from measuring import Disturbance, copy_bandwidth, device_name, machine, multiply_add_peak
from memory import NotMeasuredError, copies_of_the_batch
from plot import picture, save
from summary import IN_GOALS, STEP, Cells, Found, summarised
from tables import show, tables

from prorandconv.lab.progress import progress

SPEED = Path(__file__).parents[1] / "docs" / "results" / "speed"
OUTPUT = SPEED / "runs" / "augmentation.json"
MEMORY_SECONDS = 6.0
DISTURBED = 0.03
"""Share of the processors from which on a note tells that others took it."""


class Benchmark:
    """One run: a plan, and a store of what is measured already."""

    def __init__(self, plan: Plan, output: Path, device: str = "cpu") -> None:
        self.plan = plan
        self.device = device
        self.machine = machine() | ({} if device == "cpu" else {"device": device_name(device)})
        self.store = Store(output, {"plan": asdict(plan), "machine": self.machine})
        self.calls: dict[str, Call] = {}
        self.refused: Found = {}
        for name in plan.candidates:
            try:
                self.calls[name] = CANDIDATES[name].make()
            except Exception as error:
                self.refused[name] = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        self.cells: Cells = {}
        self.disturbances: dict[Cell, float | None] = {}
        self.limits: dict[int, dict[str, float]] = {}
        self.memory: dict[int, dict[str, Any]] = {size: {} for size in plan.centres}

    def run(self) -> None:
        """Measure what is not measured yet."""
        plan = self.plan
        work = [(size, name) for size in plan.centres for name in self.calls]
        expected = {cell: self._expected_seconds(cell) for cell in plan.cells()}
        total = int(sum(expected.values()) + MEMORY_SECONDS * len(work))
        if self.store.resumed:
            print(f"resuming after {self.store.resumed} measurements of an interrupted run")
        with progress("measuring", total, unit="expected seconds") as advance:
            for size in plan.centres:
                key = f"{size} px, limit"
                self.limits[size] = self.store.get(key, lambda size=size: self._limit(size))
            for size, name in work:
                key = f"{size} px, memory of {name}"
                self.memory[size][name] = self.store.get(
                    key, lambda size=size, name=name: self._memory(size, name)
                )
                advance(int(MEMORY_SECONDS))
            for cell in plan.cells():
                found = self.store.get(cell.key, lambda cell=cell: self._cell(cell))
                self.cells[cell] = found["candidates"]
                self.disturbances[cell] = found["disturbance"]
                advance(int(expected[cell]))

    def _cell(self, cell: Cell) -> dict[str, Any]:
        plan, centre = self.plan, self.plan.is_centre(cell)
        torch.manual_seed(plan.seed)
        calls = dict(self.calls)
        if centre:
            calls[STEP] = training_step(cell.size, self.device)
        largest = self.memory[max(plan.centres)]
        budget = {
            name: plan.centre_seconds if centre and name in IN_GOALS else plan.seconds
            for name in calls
        }
        with torch.no_grad(), Disturbance() as disturbance:
            found = measure(
                cell,
                calls,
                rounds=plan.centre_rounds if centre else plan.rounds,
                seconds=budget,
                limit=plan.limit,
                rates=rates(self.cells.items()),
                copies={name: entry.get("peak", 0.0) for name, entry in largest.items()},
                turn=plan.centre_turn if centre else plan.turn,
                device=self.device,
            )
        return {"candidates": {**found, **self.refused}, "disturbance": disturbance.share}

    def _memory(self, size: int, name: str) -> dict[str, Any]:
        if self.device != "cpu":
            return {"failed": "memory is counted on CPUs only"}
        try:
            return dict(copies_of_the_batch(name, size, self.plan.batch))
        except NotMeasuredError as reason:
            return {"failed": str(reason)}

    def _limit(self, size: int) -> dict[str, float]:
        batch = self.plan.batch
        peak = multiply_add_peak(self.device)
        bandwidth = copy_bandwidth(batch * 3 * size**2 * 4, self.device)
        return {
            "multiply_adds_per_second": peak,
            "bytes_per_second": bandwidth,
            "seconds_at_peak": seconds_at_peak(size, batch, peak),
            "seconds_at_bandwidth": bytes_moved(size, batch) / bandwidth,
        }

    def _expected_seconds(self, cell: Cell) -> float:
        """Roughly, on two cores: the slow candidates take six times the obvious way's time."""
        return 5 + min(6 * cell.work() * 6e-7, 3 * self.plan.limit)

    def report(self) -> None:
        """Print tables, and write them, the figures and the picture."""
        summary = summarised(self.cells, self.limits, self.memory, self.plan.batch)
        for entry, disturbance in zip(summary["cells"], self.disturbances.values(), strict=True):
            entry["disturbance"] = disturbance
        figures = tables(self.cells, summary)
        figures[0].notes += [
            f"{cell.key}: disturbed, other processes took {share:.0%} of the processors"
            for cell, share in self.disturbances.items()
            if share is not None and share > DISTURBED
        ]
        show(figures)
        output, machine = self.store.output, self.machine
        self.store.finish({"plan": asdict(self.plan), "machine": machine, **summary})
        note = (
            f"{machine.get('device', machine['processor'])}, {machine['threads']} threads, "
            f"torch {machine['torch']}, native: {machine['engines']['native']}"
        )
        text = "\n".join(one.markdown() for one in figures)
        links = f"all figures in [{output.name}]({output.name})"
        text = f"# Speed of the augmentation\n\nMade by `make bench`; {links}. {note}.\n\n{text}"
        output.with_suffix(".md").write_text(text)
        centres = [Cell(size, self.plan.batch) for size in self.plan.centres]
        save(picture(self.cells, centres, note), output.with_suffix(".svg"))
        print(f"written: {output}, and .md and .svg beside it")


def default_output(device: str) -> Path:
    """The stored figures are a CPU's; those of another device go into the current folder."""
    kind = torch.device(device).type
    return OUTPUT if kind == "cpu" else Path(f"augmentation-{kind}.json")


def main() -> None:
    """Measure, print tables, and store figures and a picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute, not worth keeping")
    for name, value in asdict(Plan()).items():
        several = isinstance(value, tuple)
        kind = type(value[0] if several else value)
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=kind, nargs="+" if several else None, help="of Plan"
        )
    parser.add_argument("--device", default="cpu", help="where the images are: cpu, cuda or mps")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--output", type=Path, default=None, help="JSON file; tables and a picture go beside it"
    )
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="kornia|torch._inductor")
    torch.set_num_threads(options.threads)
    given = {name: getattr(options, name) for name in asdict(Plan())}
    given = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None
    }
    plan = replace(Plan.quick() if options.quick else Plan(), **given)
    trial = Path(tempfile.gettempdir(), "prorandconv-quick.json")
    output = options.output or (trial if options.quick else default_output(options.device))
    benchmark = Benchmark(plan, output, options.device)
    try:
        benchmark.run()
    except KeyboardInterrupt:
        raise SystemExit(
            "stopped; what is finished is kept; resume by running the same command"
        ) from None
    benchmark.report()


if __name__ == "__main__":
    main()
