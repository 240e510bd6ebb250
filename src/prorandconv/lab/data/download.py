"""Downloads: resumed after an interruption, checked by their hash, and complete or not there."""

from __future__ import annotations

import gzip
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from ..errors import DataError
from ..files import cache_folder, locked, replacing
from ..progress import progress
from .splits import fingerprint

_CHUNK = 1 << 18
_TIMEOUT = 30.0


@dataclass(frozen=True)
class Download:
    """A file, where it comes from and what it must hash to."""

    domain: str
    part: str
    urls: tuple[str, ...]
    """mirrors, tried in this order"""
    md5: str
    path: Path
    """where it belongs; what is fetched as .gz is unpacked to here"""

    @property
    def packed(self) -> bool:
        """Whether the file is unpacked after fetching."""
        return self.urls[0].endswith(".gz")


def fetch(download: Download) -> None:
    """Download a file unless it is there.

    What was fetched before an interruption is kept beside the file as ``.part`` and resumed. Two
    processes that fetch the same file take turns.

    Raises:
        DataError: no mirror answers, or what arrives has the wrong checksum.
    """
    download.path.parent.mkdir(parents=True, exist_ok=True)
    part = download.path.with_name(download.path.name + ".part")
    lock = cache_folder() / "locks" / fingerprint([str(download.path.absolute())])
    busy = DataError.at(download.path, "is being fetched by another process", "wait for it")
    with locked(lock, lambda: busy, wait=True):
        if download.path.exists():
            return
        _from_mirrors(download, part)
        if download.packed:
            with (
                replacing(download.path) as temporary,
                gzip.open(part) as packed,
                temporary.open("wb") as plain,
            ):
                shutil.copyfileobj(packed, plain)
            part.unlink()
        else:
            part.replace(download.path)


def _from_mirrors(download: Download, part: Path) -> None:
    from torchvision.datasets.utils import check_integrity

    failures = []
    for url in download.urls:
        if not check_integrity(part, download.md5):
            try:
                _transfer(url, part)
            except (urllib.error.URLError, HTTPException, OSError) as error:
                failures.append(f"{url} ({error})")
                continue
        if check_integrity(part, download.md5):
            return
        part.unlink(missing_ok=True)
        failures.append(f"{url} (wrong checksum)")
    raise DataError.at(
        download.path,
        f"could not be downloaded from {', '.join(failures)}",
        "run the command again to resume, or put the file there by hand",
    )


def _transfer(url: str, part: Path) -> None:
    """Fetch what is not yet in the file; a server that cannot resume sends all of it again."""
    there = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={there}-"} if there else {})
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        resumed = answer.status == 206
        there = there if resumed else 0
        total = there + (answer.length or 0)
        with (
            part.open("ab" if resumed else "wb") as sink,
            progress(f"fetching {url}", total, unit="bytes", completed=there) as advance,
        ):
            while chunk := answer.read(_CHUNK):
                sink.write(chunk)
                advance(len(chunk))
    if answer.length:
        raise OSError(f"connection lost {answer.length:,} bytes before the end")
