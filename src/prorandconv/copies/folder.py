"""Copies of a whole folder: what is missing is made, by several processes, and recorded."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ..errors import ProRandConvError
from ..lab.data.stores import FEW
from ..lab.errors import DataError, RunError
from ..lab.files import WRITING, locked
from ..lab.progress import progress
from ..lab.run.signals import end_with_parent
from .manifest import NAME, Header, Manifest
from .pictures import content_hash, copies_of, store
from .settings import Settings
from .tree import Picture, Tree, pictures_in, with_masks

AHEAD = 4
"""Number of pictures that wait for each process."""


@dataclass(frozen=True)
class Made:
    """What became of one picture: entries for the manifest, or a problem."""

    name: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""


def all_made(
    pictures: Sequence[Picture], settings: Settings, target: Path, workers: int
) -> Iterator[Made]:
    """Make and store the copies of all pictures, in their order.

    Args:
        pictures: which to copy.
        settings: how.
        target: folder to write to.
        workers: how many processes; few pictures are copied in this one.
    """
    if workers < 2 or len(pictures) <= FEW:
        with one_thread():
            for picture in pictures:
                yield make(picture, settings, target)
        return
    # A forked process could not use threads that were there before.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(pictures)), context, _begin)
    waiting: deque[Future[Made]] = deque()
    try:
        for picture in pictures:
            waiting.append(pool.submit(make, picture, settings, target))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise RunError(
            "a worker process was killed, perhaps for want of memory; run the same command to "
            "resume, with fewer --workers or a smaller --size"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def make(picture: Picture, settings: Settings, target: Path) -> Made:
    """Make and store the copies of one picture."""
    entries = []
    try:
        for copy in copies_of(picture, settings):
            store(target, copy.files)
            entries.append(copy.entry)
    except DataError as error:
        return Made(picture.name, problem=str(error))
    except ProRandConvError as error:  # of an option that does not fit this picture
        return Made(picture.name, problem=f"{picture.path}: {error}")
    return Made(picture.name, entries)


def _begin() -> None:
    """What each process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent ends them
    torch.set_num_threads(1)
    end_with_parent()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: several may add numbers up in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


TRIED = 8
SECONDS = 10.0
"""Number of pictures that are tried, and fewer if they take longer than this."""
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
        self.settings.operator.transform()  # wrong options raise before anything is read

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
        orphans: pictures that have copies and are there no more, by name.
        conversions: how many of those made now were converted, by how.
        problems: what is wrong with pictures that have none, by name.
    """

    made: int = 0
    before: int = 0
    orphans: tuple[str, ...] = ()
    conversions: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)


def make_copies(job: Job, tree: Tree, workers: int, *, renew: bool = False) -> Outcome:
    """Make the copies that are not there yet.

    Args:
        job: the folder.
        tree: its pictures.
        workers: processes that make copies.
        renew: replace the copies of pictures that have changed, or whose masks have.

    Raises:
        DataError: the target has other content, is being worked on, there is not enough room, or
            a picture has changed since it was copied.
    """
    with _held(job.target):
        manifest = Manifest(job.target)
        manifest.resume(job.header())
        _remove_left_overs(job.target)
        _forget_changed(job, tree, manifest, renew=renew)
        missing = [p for p in tree.pictures if not manifest.has(p.name, job.targets(p))]
        names = {picture.name for picture in tree.pictures}
        orphans = tuple(name for name in manifest.sources if name not in names)
        outcome = Outcome(before=len(tree.pictures) - len(missing), orphans=orphans)
        _check_room(job, missing)
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


def _forget_changed(job: Job, tree: Tree, manifest: Manifest, *, renew: bool) -> None:
    """Remove the copies of pictures that have changed, or raise an error that names them."""
    changed = []
    for picture in tree.pictures:
        paths = [picture.path, *([picture.mask[0]] if picture.mask else [])]
        stored = manifest.hashes(picture.name)
        if stored and all(path.is_file() for path in paths):
            content, *mask = map(content_hash, paths)
            if stored != (content, mask[0] if mask else None):
                changed.append(picture.name)
    if changed and not renew:
        shown = ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else "")
        raise DataError.at(
            job.source,
            f"{len(changed):,} picture(s) or masks have changed since they were copied: {shown}",
            "make their copies anew with --renew, or choose another folder",
        )
    for name in changed:
        manifest.forget(name)


def _check_room(job: Job, missing: list[Picture]) -> None:
    """Raise before anything begins that will not fit."""
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
    check_target(target)
    target.mkdir(parents=True, exist_ok=True)
    busy = DataError.at(target, "is in use by another process", "wait until it has ended")
    with locked(target / LOCK, lambda: busy):
        yield


def check_target(target: Path) -> None:
    """Raise for a folder that has something in it, and no manifest."""
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
