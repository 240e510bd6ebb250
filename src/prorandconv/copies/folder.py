"""Copies of a whole folder: what is missing is made, by several processes, and recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import ProRandConvError
from ..lab.errors import DataError
from ..lab.files import WRITING
from ..lab.progress import progress
from .estimate import as_size, estimate, free_bytes
from .manifest import NAME, Header, Manifest
from .settings import Settings
from .tree import Picture, Tree, pictures_in, with_masks
from .workers import all_made

LOCK = ".lock"


@dataclass(frozen=True)
class Job:
    """A folder to be copied.

    Attributes:
        source: of the pictures.
        target: of the copies.
        masks: of the masks, if there are some.
        settings: how copies are made.
    """

    source: Path
    target: Path
    masks: Path | None
    settings: Settings

    def __post_init__(self) -> None:
        if self.settings.labels == "move" and self.masks is None:
            raise ProRandConvError.about("--labels", "move", "--masks, whose labels are to move")
        for name, place in (("SRC", self.source), ("--masks", self.masks)):
            if place is None:
                continue
            if not place.is_dir():
                raise ProRandConvError.about(name, str(place), "a folder of pictures")
            if _overlap(place, self.target):
                raise ProRandConvError.about(
                    "DST", str(self.target), f"a folder apart from {name} {place}"
                )
        if self.masks is not None and _overlap(self.source, self.masks):
            raise ProRandConvError.about(
                "--masks", str(self.masks), f"a folder apart from SRC {self.source}"
            )
        self.settings.operator.transform()  # refuses wrong options before anything is read

    def tree(self) -> Tree:
        """The pictures, with their masks."""
        tree = pictures_in(self.source)
        return tree if self.masks is None else with_masks(tree, self.masks)

    def targets(self, picture: Picture) -> list[str]:
        """Paths of all files that a picture gets, within the target."""
        names: list[str] = []
        for copy in self.settings.numbers:
            names.append(picture.target(copy, self.settings.format))
            mask = picture.mask_target(copy)
            names += [] if mask is None else [mask]
        return names

    def header(self) -> Header:
        """The first line of the manifest."""
        return Header.of(self.target, self.source, self.masks, self.settings)


@dataclass
class Outcome:
    """What was done.

    Attributes:
        made: how many pictures have got their copies now.
        before: how many had them.
        conversions: how many of those made now were converted, by how.
        problems: what is wrong with pictures that have none, by name.
    """

    made: int = 0
    before: int = 0
    conversions: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)


def make_copies(job: Job, tree: Tree, workers: int) -> Outcome:
    """Make the copies that are not there yet.

    Args:
        job: the folder.
        tree: its pictures.
        workers: processes that make copies.

    Raises:
        DataError: the target has other content, is being worked on, or there is not enough room.
    """
    with _held(job.target):
        manifest = Manifest(job.target)
        manifest.resume(job.header())
        _remove_left_overs(job.target)
        missing = [p for p in tree.pictures if not manifest.has(p.name, job.targets(p))]
        outcome = Outcome(before=len(tree.pictures) - len(missing))
        _refuse_if_too_large(job, missing)
        manifest.begin(job.header())
        total, each = len(tree.pictures), len(job.settings.numbers)
        with progress(
            "augmenting", total * each, unit="pictures", completed=outcome.before * each
        ) as advance:
            for made in all_made(missing, job.settings, job.target, workers):
                if made.problem:
                    outcome.problems[made.name] = made.problem
                else:
                    manifest.add(made.entries)
                    outcome.made += 1
                    outcome.conversions.update({made.entries[0]["conversion"]: 1})
                advance(each)
        manifest.finish()
        _remove_left_overs(job.target)  # a killed command's processes may have outlived it a moment
        del outcome.conversions[""]
        return outcome


def _refuse_if_too_large(job: Job, missing: list[Picture]) -> None:
    """Refuse to begin what will not fit."""
    if not missing:
        return
    expected, free = estimate(missing, job.settings), free_bytes(job.target.absolute())
    if expected.total_bytes > free:
        raise DataError.at(
            job.target,
            f"copies would take about {as_size(expected.total_bytes)} (estimated from "
            f"{expected.tried} pictures), and {as_size(free)} are free",
            "make room, or choose --size, fewer --copies or --format webp",
        )


def _remove_left_overs(target: Path) -> None:
    """Remove what processes that were killed have not written to its end."""
    for path in target.rglob(f"{WRITING}*"):
        path.unlink(missing_ok=True)


@contextmanager
def _held(target: Path) -> Iterator[None]:
    """Hold the target; the kernel lets go of it when the process ends, however it ends."""
    refuse_other_content(target)
    target.mkdir(parents=True, exist_ok=True)
    lock = FileLock(target / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise DataError.at(
            target, "another process is at work on it", "wait until it has ended"
        ) from None
    try:
        yield
    finally:
        lock.release()


def refuse_other_content(target: Path) -> None:
    """Refuse a folder that has something in it, and no manifest."""
    if not target.is_dir() or (target / NAME).exists():
        return
    other = [path.name for path in target.iterdir() if not path.name.startswith((LOCK, WRITING))]
    if other:
        raise DataError.at(
            target,
            f"is not empty, and has no {NAME} to go on with ({sorted(other)[0]} is in it)",
            "choose a new folder; nothing is overwritten",
        )


def _overlap(one: Path, other: Path) -> bool:
    one, other = one.resolve(), other.resolve()
    return one == other or one in other.parents or other in one.parents
