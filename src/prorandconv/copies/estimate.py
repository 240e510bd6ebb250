"""How much room copies take and how long they take, from a few that are made and thrown away."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..lab.errors import DataError
from .copies import copies_of
from .settings import Settings
from .tree import Picture

TRIED = 8
SECONDS = 10.0
"""So many pictures are tried, and fewer if they take longer than this."""
BLOCK = 4096
"""Bytes that files are rounded up to on most disks."""


@dataclass(frozen=True)
class Estimate:
    """What the copies of some pictures take.

    Attributes:
        files: how many pictures are written, masks not counted.
        file_bytes: of all files.
        manifest_bytes: of the manifest.
        seconds: on one core.
        tried: how many pictures this is estimated from; 0 if none of them could be read.
    """

    files: int
    file_bytes: int
    manifest_bytes: int
    seconds: float
    tried: int

    @property
    def total_bytes(self) -> int:
        """Of everything."""
        return self.file_bytes + self.manifest_bytes


def estimate(pictures: Sequence[Picture], settings: Settings) -> Estimate:
    """Make one copy of a few pictures from all over the folder, and store none."""
    once = replace(settings, copies=1)
    taken, noted, made, tried = 0, 0, 0, 0
    began = time.monotonic()
    for picture in pictures[:: max(len(pictures) // TRIED, 1)][:TRIED]:
        if tried and time.monotonic() - began > SECONDS:
            break
        with suppress(DataError):  # is reported when its turn comes
            copies = list(copies_of(picture, once))
            made += len(copies)
            tried += 1
            noted += sum(len(json.dumps(copy.entry)) for copy in copies)
            contents = [content for copy in copies for content in copy.files.values()]
            taken += sum(-(-len(content) // BLOCK) * BLOCK for content in contents)
    seconds = time.monotonic() - began
    files = len(pictures) * len(settings.numbers)
    scale = files / max(made, 1)
    return Estimate(files, int(taken * scale), int(noted * scale), seconds * scale, tried)


def free_bytes(folder: Path) -> int:
    """Free room where a folder is, or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def as_size(count: int) -> str:
    """A number of bytes for people.

    Example:
        >>> as_size(999), as_size(23_400), as_size(5_200_000_000)
        ('999 B', '23 kB', '5.2 GB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            value = count / scale
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{count} B"
