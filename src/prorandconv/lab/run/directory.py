"""The directory of one run: what is in it is whole, and belongs to one process at a time."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import safe_open

from ...errors import ProRandConvError
from ..errors import RunError
from ..files import WRITING, locked, replacing
from .config import PATH_FIELDS, RunConfig
from .stored import Result, read_result

if TYPE_CHECKING:  # a list of runs must not wait for torch
    from torch import Tensor

CONFIG = "config.json"
METRICS = "metrics.jsonl"
TIMING = "timing.jsonl"
ENVIRONMENT = "environment.json"
STATE = "state.pt"
PREVIOUS = "state.previous.pt"
BEST = "best.safetensors"
RESULT = "result.json"
NOTES = "notes.txt"
"""What happened to a run that people should know, even if nobody looked on."""
LOCK = ".lock"

METADATA = "prorandconv"
"""The entry of the weights' metadata with what a user of them must know, as JSON."""


class RunDirectory:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Hold the directory; the kernel releases it when the process ends, however it ends.

        Args:
            wait: wait for another process to end, instead of raising an error.
        """

        def busy() -> RunError:
            remedy = "wait until it has ended, or start it with --wait"
            return RunError.at(self.path, "is in use by another process", remedy)

        with ExitStack() as held:
            try:
                held.enter_context(locked(self.path / LOCK, busy, wait=wait))
            except OSError as error:
                raise self._unwritable(self.path, error) from error
            for left_over in self.path.glob(f"{WRITING}*"):
                left_over.unlink(missing_ok=True)
            yield

    def in_use(self) -> bool:
        """Whether another process holds the directory."""
        return (self.path / LOCK).exists() and not self._if_free(lambda: None)

    def _if_free(self, action: Callable[[], None]) -> bool:
        """Do something while the directory is held; False if another process holds it."""
        busy = RunError()
        try:
            with locked(self.path / LOCK, lambda: busy):
                action()
        except RunError as error:
            if error is not busy:
                raise
            return False
        return True

    def remove_checkpoints(self) -> None:
        """Remove what a finished run no longer needs."""
        for name in (STATE, PREVIOUS):
            (self.path / name).unlink(missing_ok=True)

    def write(self, name: str, content: bytes | memoryview) -> None:
        """Write a file whole or not at all, and onto the disk before it gets its name."""
        path = self.path / name
        try:
            with replacing(path, keep=self.path / PREVIOUS if name == STATE else None) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise self._unwritable(path, error, len(content)) from error

    def _unwritable(self, path: Path, error: OSError, size: int = 0) -> RunError:
        reason = error.strerror or str(error)
        if isinstance(error, PermissionError | FileExistsError | NotADirectoryError):
            remedy = "choose another folder of runs (--runs), or make this one writable"
        elif error.errno == errno.EROFS:
            remedy = "choose another folder of runs (--runs)"
        else:
            remedy = "older files are intact: make room and run the same command again"
        taken = f"; it takes {size / 1e6:.1f} MB" if size else ""
        return RunError.at(path, f"cannot be written ({reason}){taken}", remedy)

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

    def result(self) -> Result | None:
        """The result, if the run is done."""
        path = self.path / RESULT
        return read_result(path) if path.exists() else None

    def write_config(self, config: RunConfig) -> None:
        """Write the config, unless the directory is that of another run."""
        values, stored = config.to_mapping(), None
        with suppress(OSError, ValueError):  # one that is missing or damaged is written again
            stored = json.loads((self.path / CONFIG).read_text())
        if isinstance(stored, dict):
            self.check_same_config(values, stored, CONFIG)
        self.write_json(CONFIG, values)

    def check_same_config(
        self, config: Mapping[str, Any], stored: Mapping[str, Any], file: str
    ) -> None:
        """Raise if a file is that of another run than the one that this directory is for."""
        for name in config.keys() & stored.keys() - {*PATH_FIELDS, "format", "devices", "nodes"}:
            one, other = config[name], stored[name]
            if name == "options":  # of which there may be more by now
                shared = one.keys() & other.keys()
                one, other = ({k: v for k, v in o.items() if k in shared} for o in (one, other))
            if one != other:
                raise RunError.at(
                    self.path,
                    f"{file} is that of a run with {name} {other!r}, not {one!r}",
                    f"restore the file, or use another folder of runs (--runs); {CONFIG} is no "
                    "place to change a run",
                )

    def write_best(self, weights: Mapping[str, Tensor], config: RunConfig, epoch: int) -> None:
        """Write the selected weights, unless they are there, with what a user of them must know.

        Args:
            weights: of the network.
            config: the run, whose classes and image format are written too.
            epoch: when they were selected.
        """
        import safetensors.torch

        path = self.path / BEST
        data = config.identity
        about = {
            "network": config.network,
            "classes": data.classes,
            "image_size": data.image_size,
            "mean": data.mean,
            "std": data.std,
            "epoch": epoch,
        }
        plain = {name: weight.contiguous() for name, weight in weights.items()}
        # Of several entries safetensors writes the order differently each time.
        content = safetensors.torch.save(plain, {METADATA: json.dumps(about)})
        if not path.exists() or path.read_bytes() != content:
            self.write(BEST, content)


def run_directories(folder: Path) -> list[Path]:
    """The directories of runs in a folder, at any depth, the folder itself included, by name."""
    if not folder.is_dir():
        raise ProRandConvError.about("directory", str(folder), "a folder that exists")
    return [path.parent for path in sorted(folder.rglob(CONFIG))]


def note(run: Path, messages: Iterable[str]) -> None:
    """Add messages to a run's notes, a line each; a full disk is no reason to end it."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    lines = [f"{now} {message}\n" for message in messages]
    if lines:
        with suppress(OSError), open(run / NOTES, "a", encoding="utf-8") as file:
            file.writelines(lines)


def notes(run: Path) -> list[str]:
    """The lines of a run's notes, oldest first; none if all went well."""
    try:
        return (run / NOTES).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


@dataclass(frozen=True)
class Prunable:
    """A finished run and its checkpoints."""

    run: Path
    files: tuple[Path, ...]
    bytes: int


def prunable(runs: Iterable[Path]) -> list[Prunable]:
    """The checkpoints that can go: those of runs with a result and intact best weights.

    Checkpoints of unfinished runs are what they resume from, and where the best weights are
    missing or damaged a checkpoint still holds them.
    """
    found = []
    for run in runs:
        files = tuple(path for path in (run / STATE, run / PREVIOUS) if path.exists())
        if files and (run / RESULT).exists() and _intact(run / BEST):
            found.append(Prunable(run, files, sum(path.stat().st_size for path in files)))
    return found


def prune(one: Prunable) -> bool:
    """Remove a run's checkpoints; False if another process uses the run."""
    directory = RunDirectory(one.run)
    return directory._if_free(directory.remove_checkpoints)


def _intact(weights: Path) -> bool:
    try:
        with safe_open(weights, framework="numpy") as stored:
            return len(stored.keys()) > 0
    except Exception:  # a damaged file raises a kind of its own, a missing one another
        return False
