"""Where prepared data is kept, and how a file is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DATA_VARIABLE = "PRORANDCONV_DATA"
CACHE_VARIABLE = "PRORANDCONV_CACHE"


def data_root(root: Path | str | None = None) -> Path:
    """The folder of data sets: the argument, else ``PRORANDCONV_DATA``, else ``data``."""
    return Path(root or os.environ.get(DATA_VARIABLE) or "data").expanduser()


def cache_folder() -> Path:
    """The folder of prepared data: ``PRORANDCONV_CACHE``, else the user's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prorandconv"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file under a temporary name; it gets its own name only when it is complete.

    Readers see the old file or the new one, never a part, and two processes may write the same
    file at once: the later one wins.

    Args:
        path: the file to be written; its folder is made if need be.

    Yields:
        The temporary path to write to, in the same folder and with the same ending.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files for the owner alone; a data set is to be read by whoever may read
        # its folder.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
