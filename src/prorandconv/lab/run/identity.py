"""Which data and weights a run begins with, and whether the data still is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ProRandConvError
from ..errors import RunError

if TYPE_CHECKING:  # a config is read without waiting for what loads data
    from ..data import Benchmark


@dataclass(frozen=True)
class DataIdentity:
    """The data of a run as far as it names the run, and all that its network needs of it."""

    domains: tuple[str, ...]
    classes: tuple[str, ...]
    image_size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    content: str | None = None
    """hash of all images of a user's own data"""

    @classmethod
    def of(cls, benchmark: Benchmark) -> DataIdentity:
        """The identity of a benchmark's data; of a user's own folder every image is read."""
        form = benchmark.format
        return cls(
            benchmark.domains,
            benchmark.classes,
            form.image_size,
            form.mean,
            form.std,
            benchmark.content(),
        )


def weights_content(path: Path) -> str:
    """A hash of a file of weights, which names the runs that begin with it."""
    if not path.is_file():
        raise ProRandConvError.about("weights", str(path), "a file that exists")
    return _content_hash(path, path.stat().st_mtime_ns)


@cache
def _content_hash(path: Path, changed: int) -> str:
    """Hashed once for all runs of a study; a file that was changed is hashed again."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refuse_other_data(
    run: Path, source: Sequence[str], stored: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Refuse to resume a run, or to return its result, where its data has changed.

    Args:
        run: the run's directory.
        source: domains that it is trained on.
        stored: fingerprints that the run has kept, by "train", "val" and target.
        present: fingerprints of what is there now; what is missing is not compared.
    """
    for name, own in stored.items():
        if present.get(name, own) != own:
            split = {"train": "training", "val": "validation"}.get(name, "test")
            domain = name if split == "test" else ", ".join(source)
            raise RunError.at(
                run,
                f"was made with other {split} images of {domain} than those that are there now",
                "restore them, or use another folder of runs (--runs)",
            )
