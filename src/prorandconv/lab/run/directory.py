"""The directory of one run: what is in it is whole, and belongs to one process at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors.torch
from filelock import FileLock, Timeout
from torch import Tensor

from ..errors import RunError
from ..files import WRITING, replacing

CONFIG = "config.json"
METRICS = "metrics.jsonl"
TIMING = "timing.jsonl"
ENVIRONMENT = "environment.json"
STATE = "state.pt"
PREVIOUS = "state.previous.pt"
BEST = "best.safetensors"
RESULT = "result.json"


class RunDirectory:
    """Reads and writes the files of one run.

    Args:
        path: ``runs/<benchmark>/<method>/<source>/<hash>``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Hold the directory; the kernel lets go of it when the process ends, however it ends.

        Args:
            wait: wait for another process to finish, instead of refusing.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / ".lock", timeout=-1 if wait else 0)
        try:
            lock.acquire()
        except Timeout as error:
            raise RunError.at(
                self.path,
                "another process is at work on this run",
                "wait until it has ended, or start it with --wait",
            ) from error
        try:
            for left_over in self.path.glob(f"{WRITING}*"):
                left_over.unlink(missing_ok=True)
            yield
        finally:
            lock.release()

    def write(self, name: str, content: bytes | memoryview) -> None:
        """Write a file whole or not at all, and onto the disk before it gets its name."""
        path = self.path / name
        try:
            with replacing(path, keep=self.path / PREVIOUS if name == STATE else None) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            size = len(content) / 1e6
            raise RunError.at(
                path,
                f"cannot be written ({error.strerror or error}); it takes {size:.1f} MB",
                "older files are intact: make room and run the same command again",
            ) from error

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file."""
        self.write(name, (json.dumps(content, indent=1) + "\n").encode())

    def write_lines(self, name: str, lines: list[dict[str, Any]]) -> None:
        """Write a file of one JSON object a line."""
        self.write(name, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def append_line(self, name: str, line: Mapping[str, Any]) -> None:
        """Add to a file that nothing depends on."""
        with open(self.path / name, "a") as file:
            file.write(json.dumps(line) + "\n")

    def result(self) -> dict[str, Any] | None:
        """The result, if the run is done."""
        path = self.path / RESULT
        if not path.exists():
            return None
        try:
            result: dict[str, Any] = json.loads(path.read_text())
        except ValueError as error:
            raise RunError.at(path, "is damaged", "remove it: the run then goes on") from error
        return result

    def write_best(self, weights: Mapping[str, Tensor], epoch: int) -> None:
        """Write the selected weights, unless they are there."""
        path = self.path / BEST
        metadata = {"epoch": str(epoch)}
        plain = {name: weight.contiguous() for name, weight in weights.items()}
        content = safetensors.torch.save(plain, metadata)
        if not path.exists() or path.read_bytes() != content:
            self.write(BEST, content)
