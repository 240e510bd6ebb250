"""Are all image files intact, and what is in them? Read once, and remembered."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from ..errors import DataError
from ..files import cache_folder, write_text
from ..progress import progress
from .decoding import decode
from .splits import fingerprint

FEW = 16
"""So many files are decoded faster than worker processes start."""


@dataclass(frozen=True)
class FileState:
    """What reading a file has shown."""

    content: str = ""
    """a hash of its bytes"""
    conversion: str = ""
    """what is done with a file that is not 8-bit grey or RGB"""
    problem: str = ""
    """why it cannot be decoded"""


Item = TypeVar("Item", bound=Hashable)
"""An image file, or an image with its mask."""


Made = TypeVar("Made")


@dataclass(frozen=True)
class _Each(Dataset[Made], Generic[Item, Made]):
    """What a function makes of each item."""

    items: Sequence[Item]
    make: Callable[[Item], Made]

    def __getitem__(self, position: int) -> Made:
        return self.make(self.items[position])

    def __len__(self) -> int:
        return len(self.items)


def loader(
    items: Sequence[Item], make: Callable[[Item], Made], *, count: int, workers: int, **how: Any
) -> DataLoader[Made]:
    """What a function makes of items, in worker processes unless there are only few to do.

    Args:
        items: such as files.
        make: called with one of them.
        count: how many of them are asked for.
        workers: how many processes.
        how: further arguments of the loader, such as its batches.
    """
    # Loaders draw a seed for their workers; torch's own generator would miss it, and what a run
    # draws must not depend on whether its images were cached.
    how["generator"] = torch.Generator()
    return DataLoader(_Each(items, make), num_workers=0 if count <= FEW else workers, **how)


def look_at_image(path: Path) -> FileState:
    """Decode an image file; raises whatever is wrong with it."""
    conversion = decode(path).conversion
    return FileState(content_hash(path), conversion)


def content_hash(*paths: Path) -> str:
    """A hash of the bytes of files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _seen(item: Item, look: Callable[[Item], FileState]) -> FileState:
    try:
        return look(item)
    except (DataError, OSError) as error:
        return FileState(problem=str(error))


def inspect(
    items: Sequence[Item], look: Callable[[Item], FileState], *, title: str, workers: int
) -> dict[Item, FileState]:
    """Read and decode everything once.

    Args:
        items: image files, or images with masks.
        look: reads and decodes one of them.
        title: whose files they are, for the progress bar.
        workers: processes that decode; 0 decodes in this one.
    """
    see = partial(_seen, look=look)
    batches = loader(items, see, count=len(items), workers=workers, batch_size=32, collate_fn=list)
    states: list[FileState] = []
    with progress(f"decoding {title}", len(items), unit="images") as advance:
        for batch in batches:
            states += batch
            advance(len(batch))
    return dict(zip(items, states, strict=True))


def intact(
    folder: Path,
    items: Mapping[Item, tuple[Path, ...]],
    look: Callable[[Item], FileState],
    *,
    title: str,
    workers: int,
    checked: str = "",
) -> dict[Item, str]:
    """Content hashes of images, all of which can be decoded.

    Files are read and decoded once; what was found is kept in the cache folder until a file's
    size or one of its times changes.

    Args:
        folder: what the files are in.
        items: image files, or images with masks, and the files that each consists of.
        look: reads and decodes one of them.
        title: whose files they are, for messages.
        workers: processes that decode; 0 decodes in this one.
        checked: what else was looked for, so that a change of it means another look.

    Raises:
        DataError: names the files that cannot be decoded.
    """
    kept = cache_folder() / "intact" / f"{fingerprint([str(folder.absolute())])}.json"
    known = _kept(kept)
    stamps = {
        item: " ".join([*map(_stamp, files), *([checked] if checked else [])])
        for item, files in items.items()
    }
    hashes = {item: known[stamp] for item, stamp in stamps.items() if stamp in known}
    unknown = [item for item in items if item not in hashes]
    if not unknown:
        return hashes
    states = inspect(unknown, look, title=title, workers=workers)
    hashes |= {item: state.content for item, state in states.items() if not state.problem}
    with suppress(OSError):  # kept to save time, no more
        write_text(kept, json.dumps({stamps[item]: hashes[item] for item in hashes}))
    if converted := {items[one][0]: s.conversion for one, s in states.items() if s.conversion}:
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
