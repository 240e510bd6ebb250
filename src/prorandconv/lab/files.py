"""Where data is kept, and how files are written, read, locked and hashed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from .errors import DataError, LabError

DATA_VARIABLE = "PRORANDCONV_DATA"
CACHE_VARIABLE = "PRORANDCONV_CACHE"
WRITING = ".writing-"
"""What names of files begin with that are not complete yet."""


def data_root(root: Path | str | None = None) -> Path:
    """The folder of data sets: the argument, else ``PRORANDCONV_DATA``, else ``data``."""
    return Path(root or os.environ.get(DATA_VARIABLE) or "data").expanduser()


def cache_folder() -> Path:
    """The folder of prepared data: ``PRORANDCONV_CACHE``, else the user's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prorandconv"


@contextmanager
def replacing(path: Path, *, keep: Path | None = None) -> Iterator[Path]:
    """Write a file under a temporary name; it gets its own name only when it is on the disk.

    Readers see the old file or the new one, never a part, also after a power cut, and two
    processes may write the same file at once: the later one wins.

    Args:
        path: the file to be written; its folder is made if need be.
        keep: a name under which the old file is kept.

    Yields:
        The temporary path to write to, in the same folder and with the same ending.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=WRITING, suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files for the owner alone; this one is to be read by whoever may read its
        # folder.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        _sync(temporary)
        if keep is not None and path.exists():
            os.replace(path, keep)
        os.replace(temporary, path)
        if os.name == "posix":  # elsewhere a folder cannot be opened
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(content, indent=1) + "\n")


@contextmanager
def reading(
    path: Path, problem: str, remedy: str, kind: type[LabError] = DataError
) -> Iterator[None]:
    """Let whatever is raised while a file is read name the file; a damaged one raises anything.

    Args:
        path: the file.
        problem: what is wrong if it cannot be read; the reason is added.
        remedy: what to do then.
        kind: the error's class.
    """
    try:
        yield
    except LabError:
        raise
    except Exception as error:
        raise kind.at(path, f"{problem} ({error})", remedy) from error


@contextmanager
def locked(path: Path, busy: Callable[[], LabError], *, wait: bool = False) -> Iterator[None]:
    """Hold a lock file; the kernel releases it when the process ends, however it ends.

    Args:
        path: the file; it is made if need be, and stays.
        busy: makes the error that is raised if another process holds it.
        wait: wait for that process to end, instead.
    """
    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise busy() from error
    try:
        yield
    finally:
        lock.release()


def digest(*parts: bytes | memoryview | str) -> str:
    """The SHA-256 of all parts in a row, in hexadecimal; texts count by their UTF-8."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.encode() if isinstance(part, str) else part)
    return total.hexdigest()
