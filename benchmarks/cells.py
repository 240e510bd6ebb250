"""Which settings are measured, how one is measured, and how finished ones survive an interruption.

A full cross product would take days with the slow candidates. So there are centres (64 images of 32
and of 224 pixels, random L, float32), and from them one axis at a time is varied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from candidates import CANDIDATES, CHANNELS, Call
from measuring import spread, timed, write_json

from prorandconv import engines

ORDER = (5, 6, 3, 8, 1, 10, 2, 9, 4, 7)
"""Random L, the same for all: each of 1 to 10 once in ten rounds, and an even number of rounds from
the start has 5.5 as its mean and median, as L ~ U{1..10} has."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Cell:
    """One setting, in which all candidates are measured in turns."""

    size: int
    batch: int
    repeats: int | None = None
    """a fixed L; None is random"""
    dtype: str = "float32"

    @property
    def key(self) -> str:
        """A name for files and tables."""
        repeats = "random" if self.repeats is None else self.repeats
        return f"{self.size} px, N = {self.batch}, L = {repeats}, {self.dtype}"

    def work(self, repeats: float | None = None) -> float:
        """Pixels times repetitions, which everything should be proportional to."""
        return self.batch * self.size**2 * (repeats or self.repeats or 5.5)

    def rounds(self, count: int) -> list[int]:
        """The number of repetitions in each round."""
        return [self.repeats or ORDER[number % len(ORDER)] for number in range(count)]

    def images(self) -> torch.Tensor:
        """A mini-batch: the time does not depend on what it shows."""
        generator = torch.Generator().manual_seed(0)
        shape = (self.batch, CHANNELS, self.size, self.size)
        return (torch.rand(shape, generator=generator) * 2 - 1).to(DTYPES[self.dtype])


def _candidates() -> tuple[str, ...]:
    """All of them; Triton's engine where it is."""
    here = engines()["triton"].startswith("available")
    return tuple(name for name in CANDIDATES if name != "triton" or here)


@dataclass(frozen=True)
class Plan:
    """What a run measures, and how long it may take for it."""

    candidates: tuple[str, ...] = field(default_factory=_candidates)
    sizes: tuple[int, ...] = (32, 64, 128, 224, 512)
    centres: tuple[int, ...] = (32, 224)
    batch: int = 64
    batches: tuple[int, ...] = (1, 16, 64, 256)
    repeats: tuple[int, ...] = (1, 5, 10)
    dtypes: tuple[str, ...] = ("float32", "bfloat16")
    rounds: int = 10
    """rounds of a cell, for candidates that are fast enough"""
    centre_rounds: int = 30
    seconds: float = 2.0
    """a candidate that has used up so much of a cell has had its rounds, but always one"""
    centre_seconds: float = 45.0
    """the same in centres, for those that goals are about"""
    turn: float = 0.1
    """seconds for which short calls are repeated when it is their turn"""
    centre_turn: float = 0.3
    limit: float = 60.0
    """seconds one mini-batch may take: beyond it a candidate is left out of a cell"""
    seed: int = 0

    @classmethod
    def quick(cls) -> Plan:
        """A minute, to try whether everything works: no figure of it is worth keeping."""
        return cls(
            sizes=(32, 64),
            centres=(32,),
            batches=(1, 64),
            repeats=(1, 5),
            rounds=4,
            centre_rounds=6,
            seconds=0.5,
            centre_seconds=1.0,
            centre_turn=0.1,
            limit=5.0,
        )

    def cells(self) -> list[Cell]:
        """Centres first, then each axis from small to large."""
        cells = [Cell(size, self.batch) for size in self.centres]
        cells += [Cell(size, self.batch) for size in self.sizes]
        for size in self.centres:
            cells += [Cell(size, batch) for batch in self.batches]
            cells += [Cell(size, self.batch, repeats) for repeats in self.repeats]
            cells += [Cell(size, self.batch, dtype=dtype) for dtype in self.dtypes]
        return list(dict.fromkeys(cells))

    def is_centre(self, cell: Cell) -> bool:
        """Whether goals are measured in this cell."""
        return cell in [Cell(size, self.batch) for size in self.centres]


def measure(
    cell: Cell,
    calls: Mapping[str, Call],
    *,
    rounds: int,
    seconds: Mapping[str, float],
    limit: float,
    rates: Mapping[str, float],
    copies: Mapping[str, float],
    turn: float = 0.1,
    device: torch.device | str = "cpu",
) -> dict[str, dict[str, Any]]:
    """Time all candidates in turns.

    Args:
        cell: the setting.
        calls: what is timed, by name.
        rounds: how often each has its turn.
        seconds: a candidate that has used up so much drops out, but not before its first round, so
            that all have had the first of the same rounds.
        limit: seconds a mini-batch may take.
        rates: seconds for a unit of work, by name, as far as they are known: from them one knows
            whether a candidate would exceed the limit. They never become a figure.
        copies: peak memory in copies of the batch, by name, as far as it is known: a candidate that
            would not fit into free memory is left out.
        turn: seconds for which short calls are repeated when it is their turn.
        device: where the images are.

    Returns:
        By name either ``repeats`` and ``seconds`` of each round with median and quartiles, or why
        there are none: ``left_out`` or ``failed``.
    """
    x = cell.images().to(device)
    schedule = cell.rounds(rounds)
    found: dict[str, dict[str, Any]] = {}
    for name, call in calls.items():
        expected = rates.get(name, 0.0) * cell.work(schedule[0])
        gigabytes = copies.get(name, 0.0) * x.numel() * 4 / 1e9
        if expected > limit or gigabytes > free_gigabytes():
            reason = f"a mini-batch with L = {schedule[0]} would take about {expected:.0f} s"
            found[name] = {"left_out": f"{reason} and {gigabytes:.1f} GB"}
            continue
        try:
            # compiled code is made for the size, whatever the number of images
            call(x if expected < 5 else x[:2], 1)
            found[name] = {"repeats": [], "seconds": []}
        except Exception as error:
            found[name] = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    taking_part = [name for name, entry in found.items() if "seconds" in entry]
    for repeats in schedule:
        for name in list(taking_part):
            entry, call = found[name], calls[name]
            used = sum(entry["seconds"])
            if used and used * (1 + repeats / sum(entry["repeats"])) > seconds[name]:
                taking_part.remove(name)
                continue
            entry["seconds"].append(
                timed(lambda c=call, n=repeats: c(x, n), calls=25, until=turn, device=device)
            )
            entry["repeats"].append(repeats)
    for entry in found.values():
        if "seconds" in entry:
            entry.update(spread(entry["seconds"]))
    return found


def free_gigabytes() -> float:
    """Memory that can still be had, where the system tells it."""
    information = Path("/proc/meminfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) / 1e6
    return float("inf")


def rates(cells: Iterable[tuple[Cell, dict[str, dict[str, Any]]]]) -> dict[str, float]:
    """Seconds for a unit of work, from the largest cell in which each candidate was measured."""
    largest: dict[str, tuple[float, float]] = {}
    for cell, found in cells:
        for name, entry in found.items():
            if "seconds" in entry:
                work = cell.work(sum(entry["repeats"]))
                largest[name] = max(
                    largest.get(name, (0.0, 0.0)), (work, sum(entry["seconds"]) / work)
                )
    return {name: rate for name, (_, rate) in largest.items()}


class Store:
    """Finished measurements, in a file that is written whole after each of them.

    A run that was interrupted goes on from the file, if it was made with the same settings on the
    same machine with the same versions; ``finish`` gives it its final name. So a finished result is
    never mixed with another run's, and stays until there is a new one.
    """

    def __init__(self, output: Path, settings: dict[str, Any]) -> None:
        self.output = output
        self.part = output.with_suffix(".part.json")
        settings = json.loads(json.dumps(settings))  # as it is read back: lists for tuples
        self.content: dict[str, Any] = {**settings, "measured": {}}
        self.resumed = 0
        if self.part.exists():
            before = json.loads(self.part.read_text())
            if {**before, "measured": {}} == self.content:
                self.content = before
                self.resumed = len(before["measured"])

    def get(self, key: str, measure: Callable[[], Any]) -> Any:
        """What was measured before under this key, or is measured now."""
        measured = self.content["measured"]
        if key not in measured:
            measured[key] = measure()
            write_json(self.part, self.content)
        return measured[key]

    def finish(self, content: dict[str, Any]) -> None:
        """Write the final file, and forget the interrupted one."""
        write_json(self.output, content)
        self.part.unlink(missing_ok=True)
