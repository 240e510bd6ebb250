"""Are all image files intact, and what is in them? Read once, and remembered."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from torch.utils.data import DataLoader, Dataset

from ..errors import DataError
from ..files import cache_folder, replacing
from ..progress import progress
from .decoding import decode
from .image_files import FEW, available_cores, unused_generator
from .splits import fingerprint


@dataclass(frozen=True)
class FileState:
    """What reading a file has shown."""

    content: str
    """a hash of its bytes"""
    problem: str = ""
    """why it cannot be decoded"""
    conversion: str = ""
    """what is done with a file that is not 8-bit grey or RGB"""


@dataclass(frozen=True)
class _Inspector(Dataset[FileState]):
    paths: Sequence[Path]

    def __getitem__(self, position: int) -> FileState:
        path = self.paths[position]
        try:
            content = hashlib.sha256(path.read_bytes()).hexdigest()[:32]
        except OSError as error:
            reason = error.strerror or type(error).__name__
            return FileState("", f"{path}: cannot be read ({reason}); replace or remove it")
        try:
            return FileState(content, conversion=decode(path).conversion)
        except DataError as error:
            return FileState(content, problem=str(error))

    def __len__(self) -> int:
        return len(self.paths)


def _as_lists(items: list[FileState]) -> list[FileState]:
    return items


def inspect(
    paths: Sequence[Path], *, title: str, workers: int | None = None
) -> dict[Path, FileState]:
    """Read and decode every file once.

    Args:
        paths: the files.
        title: whose files they are, for the progress bar.
        workers: processes that decode; 0 decodes in this one.
    """
    workers = available_cores() if workers is None else workers
    loader = DataLoader(
        _Inspector(paths),
        batch_size=32,
        collate_fn=_as_lists,
        num_workers=0 if len(paths) <= FEW else workers,
        generator=unused_generator(),
    )
    states: list[FileState] = []
    with progress(f"decoding {title}", len(paths), unit="images") as advance:
        for batch in loader:
            states += batch
            advance(len(batch))
    return dict(zip(paths, states, strict=True))


def intact(
    folder: Path, paths: Sequence[Path], *, title: str, workers: int | None = None
) -> dict[Path, str]:
    """Content hashes of image files, all of which can be decoded.

    Files are read and decoded once; what was found is kept in the cache folder until a file's
    size or one of its times changes.

    Args:
        folder: what the files are in.
        paths: the files.
        title: whose files they are, for messages.
        workers: processes that decode; 0 decodes in this one.

    Raises:
        DataError: names the files that cannot be decoded.
    """
    kept = cache_folder() / "intact" / f"{fingerprint([str(folder.absolute())])}.json"
    known = _kept(kept)
    stamps = {path: _stamp(path) for path in paths}
    hashes = {path: known[stamp] for path, stamp in stamps.items() if stamp in known}
    unknown = [path for path in paths if path not in hashes]
    if not unknown:
        return hashes
    states = inspect(unknown, title=title, workers=workers)
    hashes |= {path: state.content for path, state in states.items() if not state.problem}
    with suppress(OSError), replacing(kept) as temporary:  # kept to save time, no more
        temporary.write_text(json.dumps({stamps[path]: hashes[path] for path in hashes}))
    if converted := {path: s.conversion for path, s in states.items() if s.conversion}:
        first, what = next(iter(converted.items()))
        warnings.warn(
            f"{title}: {len(converted)} image(s) are not 8-bit grey or RGB, the first is "
            f"{first}: {what}; `prorandconv data check` names them all, save them as 8-bit RGB "
            "to decide for yourself",
            stacklevel=2,
        )
    if broken := [state.problem for state in states.values() if state.problem]:
        shown = "\n  ".join(broken[:10])
        rest = f"\n  and {len(broken) - 10} more" if len(broken) > 10 else ""
        raise DataError(f"{title}: {len(broken)} broken image(s):\n  {shown}{rest}")
    return hashes


def _stamp(path: Path) -> str:
    """A text that changes when the file is replaced, even by one of equal size and age."""
    try:
        state = path.stat()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError.at(path, f"cannot be read ({reason})", "replace or remove it") from error
    return f"{path.absolute()} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _kept(path: Path) -> dict[str, str]:
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        known = None
    return known if isinstance(known, dict) else {}  # damaged or missing: read the files again
