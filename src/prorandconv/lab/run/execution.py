"""How a run is executed: where its files go, on which device, and what is shown meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import require
from ..errors import unknown_name

ACCELERATORS = ("auto", "cpu", "cuda", "mps")


@dataclass(frozen=True)
class Execution:
    """How a run is executed: nothing here changes its result."""

    runs: Path = Path("runs")
    """folder of all runs"""
    accelerator: str = "auto"
    """auto, cpu, cuda or mps"""
    checkpoint_minutes: float = 10.0
    """save a checkpoint within an epoch every so many minutes"""
    tensorboard: bool = False
    """write the metrics for TensorBoard too"""
    wait: bool = False
    """wait while another process is at work on this run, instead of refusing"""
    quiet: bool = False
    """show nothing while running"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", Path(self.runs))
        if self.accelerator not in ACCELERATORS:
            raise unknown_name("accelerator", self.accelerator, ACCELERATORS)
        minutes = self.checkpoint_minutes
        require("checkpoint_minutes", minutes, minutes >= 0, "a number from 0")

    def resolved(self) -> Execution:
        """The same with absolute paths, for a process in another folder."""
        return replace(self, runs=self.runs.resolve())
