"""Larger sets: files decoded by worker processes, and kept decoded up to a limit of bytes."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ...errors import ProRandConvError
from ..errors import DataError
from ..files import cache_folder, replacing
from ..progress import progress
from .decoding import decode
from .images import ImageFormat, Images
from .pixels import resize
from .splits import Split, fingerprint

CACHE_BYTES = 2 * 1024**3
"""Default limit of decoded images in memory: all of PACS at 224 pixels takes 1.1 GB."""

FEW = 16
"""So many files are decoded faster than worker processes start."""


def available_cores() -> int:
    """Cores this process may use, at most 8: decoding gains little from more."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, 8)


@dataclass
class DecodedCache:
    """Decoded images by path, up to a limit of bytes; what is in stays in.

    An epoch reads every image once in a new order: evicting the oldest would throw out exactly
    what the next epoch reads, so a full cache simply takes no more.
    """

    limit: int = CACHE_BYTES
    used: int = 0
    images: dict[tuple[Path, int], Tensor] = field(default_factory=dict)

    def offer(self, path: Path, image: Tensor) -> None:
        """Keep an image if there is room."""
        key = (path, image.shape[-1])
        if key not in self.images and self.used + image.nbytes <= self.limit:
            # A slice of a worker's batch would keep the whole batch alive.
            self.images[key] = image.clone()
            self.used += image.nbytes


@dataclass(frozen=True)
class _Decoder(Dataset[Tensor]):
    paths: Sequence[Path]
    size: int

    def __getitem__(self, position: int) -> Tensor:
        return resize(decode(self.paths[position]).pixels[None], self.size)[0]

    def __len__(self) -> int:
        return len(self.paths)


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


def _unused_generator() -> torch.Generator:
    """Loaders draw a seed for their workers; from torch's own generator it would be missed there.

    What a run draws must not depend on whether its images were cached.
    """
    return torch.Generator()


def _packed(images: list[Tensor]) -> tuple[Tensor, list[int]]:
    """Grey and colour images end to end: one tensor, so one shared file, for a batch."""
    return torch.cat([image.reshape(-1) for image in images]), [len(image) for image in images]


def _unpacked(packed: tuple[Tensor, list[int]], size: int) -> list[Tensor]:
    pixels, channels = packed
    lengths = [count * size * size for count in channels]
    return [part.view(-1, size, size) for part in torch.split(pixels, lengths)]


def _as_lists(items: list[FileState]) -> list[FileState]:
    return items


class FolderImages(Images):
    """Images in files, decoded when they are needed.

    Args:
        paths: the files by a name that is the same on every machine, in order.
        contents: a hash of each file's content, in the same order.
        labels: int64 ``(N,)``.
        classes: names of the classes.
        split: which split this is.
        format: how the images reach the network.
        cache: decoded images, shared by the sets of a benchmark.
        workers: processes that decode; 0 decodes in this one.
    """

    def __init__(
        self,
        paths: Mapping[str, Path],
        contents: Sequence[str],
        labels: Tensor,
        *,
        classes: tuple[str, ...],
        split: Split,
        format: ImageFormat,
        cache: DecodedCache,
        workers: int | None = None,
    ) -> None:
        self.paths = tuple(paths.values())
        self.names = tuple(paths)
        self.labels = labels
        self.classes = classes
        self.split = split
        self.format = format
        self.cache = cache
        self.workers = available_cores() if workers is None else workers
        self.contents = tuple(contents)
        members = zip(self.names, labels.tolist(), self.contents, strict=True)
        self.fingerprint = fingerprint(
            f"{name} {classes[label]} {content}" for name, label, content in members
        )

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Decode batches of images, or take them from the cache; see :meth:`Images.stored`."""
        size, cached = self.format.image_size, self.cache.images
        missing = [
            [i for i in index.tolist() if (self.paths[i], size) not in cached] for index in indices
        ]
        wanted = [positions for positions in missing if positions]
        few = sum(map(len, wanted)) <= FEW
        loader = DataLoader(
            _Decoder(self.paths, size),
            batch_sampler=wanted,
            collate_fn=_packed,
            num_workers=0 if few else min(self.workers, len(wanted)),
            generator=_unused_generator(),
        )
        decoded = iter(loader) if wanted else iter(())
        for index, positions in zip(indices, missing, strict=True):
            images = _unpacked(next(decoded), size) if positions else []
            fresh = dict(zip(positions, images, strict=True))
            for i, image in fresh.items():
                self.cache.offer(self.paths[i], image)
            batch = [
                fresh[i] if i in fresh else cached[self.paths[i], size] for i in index.tolist()
            ]
            channels = max(len(image) for image in batch)
            yield torch.stack([image.expand(channels, size, size) for image in batch])

    @classmethod
    def joined(cls, sets: Sequence[Images]) -> FolderImages:
        """The images of several sets as one, in the given order."""
        own = [part for part in sets if isinstance(part, cls)]
        if len(own) < len(sets) or not own:
            raise ProRandConvError.about("sets", sets, "sets that are all image folders")
        first = own[0]
        return cls(
            {name: path for part in own for name, path in zip(part.names, part.paths, strict=True)},
            [content for part in own for content in part.contents],
            torch.cat([part.labels for part in own]),
            classes=first.classes,
            split=first.split,
            format=first.format,
            cache=first.cache,
            workers=first.workers,
        )


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
        generator=_unused_generator(),
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
    with replacing(kept) as temporary:
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
