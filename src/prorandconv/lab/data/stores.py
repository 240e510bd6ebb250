"""Where samples are read from: tensors in memory, or files that worker processes decode."""

from __future__ import annotations

import hashlib
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ...errors import require
from ..errors import DataError
from .augmentation import resize
from .decoding import Decoded, Hash, decode
from .masks import MaskEncoding
from .splits import fingerprint

CACHE_BYTES = 2 * 1024**3
"""Default limit of decoded images in memory: all of PACS at 224 pixels takes 1.1 GB."""


@dataclass
class DecodedCache:
    """Decoded images by file, content and size, up to a limit of bytes; what is in stays in.

    An epoch reads every image once in a new order: evicting the oldest would throw out exactly
    what the next epoch reads, so a full cache simply takes no more.
    """

    limit: int = CACHE_BYTES
    used: int = 0
    images: dict[tuple[Path, str, int | None], Tensor] = field(default_factory=dict)

    def get(self, file: File, size: int | None) -> Tensor | None:
        """An image that is kept; without a size, in that of its file."""
        return self.images.get((file.paths[0], file.content, size))

    def offer(self, file: File, size: int | None, image: Tensor) -> None:
        """Keep an image if there is room."""
        key = (file.paths[0], file.content, size)
        if key not in self.images and self.used + image.nbytes <= self.limit:
            # A slice of a worker's batch would keep the whole batch alive.
            self.images[key] = image.clone()
            self.used += image.nbytes


@dataclass(frozen=True)
class Options:
    """How image folders are read; benchmarks in memory need none of it.

    Attributes:
        cache_bytes: limit of decoded images kept in memory, in bytes; 0 keeps none.
        workers: processes that decode; 0 decodes in the calling process, None means one for each
            core.
        image_size: side in pixels that images are resized to; None means the benchmark's.
    """

    cache_bytes: int = CACHE_BYTES
    workers: int | None = None
    image_size: int | None = None
    cache: DecodedCache = field(init=False)

    def __post_init__(self) -> None:
        require("cache_bytes", self.cache_bytes, self.cache_bytes >= 0, "a number from 0")
        for name, least in (("workers", 0), ("image_size", 1)):
            value = getattr(self, name)
            right = value is None or value >= least
            require(name, value, right, f"None or a number from {least}")
        object.__setattr__(self, "cache", DecodedCache(self.cache_bytes))

    @property
    def processes(self) -> int:
        """How many processes decode: of all cores at most 8, since more gain little."""
        if self.workers is not None:
            return self.workers
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return min(cores or 1, 8)


FEW = 16
"""This number of files is decoded faster than worker processes start."""
TOGETHER = 32
"""Number of images that a worker process decodes at once; scenes, which are large, one by one."""


Fetched = Tensor | list[Tensor]
"""A batch as it is stored."""


class Store(Protocol):
    """Images or scenes by position, uint8.

    Attributes:
        fingerprint: a hash of all of them, and of their labels.
    """

    fingerprint: str

    def __len__(self) -> int:
        """The number of images."""

    def fetch(self, indices: Sequence[Tensor]) -> Iterator[Fetched]:
        """Read batches.

        Yields:
            ``(n, 1 or 3, S, S)``, or a list of ``(1 or 3, S, S)``; of scenes ``(4, H, W)``: red,
            green, blue, and the class of each pixel or ``UNLABELLED``.
        """


class MemoryStore:
    """Images or scenes of one size, in memory.

    Args:
        pixels: uint8 ``(N, C, H, W)``.
        content: a hash of them as they were before they were resized, and of their labels; None if
            they are all there is.
    """

    def __init__(self, pixels: Tensor, content: str | None = None) -> None:
        self.pixels, self.content = pixels, content
        self.fingerprint = content or fingerprint([pixels.contiguous().view(-1).numpy().data])

    def __len__(self) -> int:
        return len(self.pixels)

    def fetch(self, indices: Sequence[Tensor]) -> Iterator[Fetched]:
        """Gather batches; see :meth:`Store.fetch`."""
        return (self.pixels[index] for index in indices)


@dataclass(frozen=True)
class File(ABC):
    """A file of a domain, or several that belong together.

    Attributes:
        name: ``domain/class/file``, the same on every machine.
        content: a hash of its bytes, once it is known.
        labels: of a scene the number of pixels of each class, once it is known.
    """

    name: str
    content: str = field(default="", kw_only=True)
    labels: Mapping[int, int] = field(default_factory=dict, kw_only=True, hash=False)

    @property
    @abstractmethod
    def paths(self) -> tuple[Path, ...]:
        """Where it is, the image first."""

    @abstractmethod
    def read(self, hashing: Hash | None = None) -> Decoded:
        """Decode it, uint8 as :meth:`Store.fetch` gives it; what is read goes into the hash.

        Raises:
            DataError: a file is damaged, or several do not fit together.
        """


@dataclass(frozen=True)
class ImageFile(File):
    """An image and its class, a position in the names of the classes."""

    path: Path
    label: int
    upright: bool = False
    """turn it as its EXIF orientation says"""

    @property
    def paths(self) -> tuple[Path]:
        """The image."""
        return (self.path,)

    def read(self, hashing: Hash | None = None) -> Decoded:
        """Decode the image; see :meth:`File.read`."""
        return decode(self.path, hashing, upright=self.upright)


@dataclass(frozen=True)
class SceneFile(File):
    """An image, its mask, and how the mask is written."""

    image: Path
    mask: Path
    encoding: MaskEncoding
    upright: bool = False
    """turn both as their EXIF orientations say"""

    @property
    def paths(self) -> tuple[Path, Path]:
        """Image and mask."""
        return self.image, self.mask

    def read(self, hashing: Hash | None = None) -> Decoded:
        """Decode image and mask into four channels; see :meth:`File.read`."""
        picture = decode(self.image, hashing, upright=self.upright)
        classes = self.encoding.read(self.mask, hashing, upright=self.upright)
        if picture.pixels.shape[-2:] != classes.shape:
            mask, image = (
                " × ".join(map(str, shape[-2:])) for shape in (classes.shape, picture.pixels.shape)
            )
            raise DataError.at(
                self.mask,
                f"is {mask} pixels high and wide, but its image {self.image} is {image}",
                "export the mask in the size of its image"
                + (", upright: the image is turned as its EXIF entry says" * picture.turned),
            )
        pixels = torch.cat([picture.pixels.expand(3, -1, -1), classes[None]])
        labels = {} if hashing is None else dict(enumerate(classes.flatten().bincount().tolist()))
        present = {label: count for label, count in labels.items() if count}
        return Decoded(pixels, picture.conversion, picture.turned, present)


NOTHING = torch.empty(0, dtype=torch.uint8)


def read_files(
    files: Sequence[File], size: int | None, *, workers: int, hashed: bool = False
) -> Iterator[Decoded]:
    """Decode files, in worker processes unless there are only few.

    Args:
        files: which, in order.
        size: side in pixels to resize to; None keeps the size of each.
        workers: processes that decode; 0 decodes in this one.
        hashed: whether the content is hashed, too.
    """
    if not files:
        return
    together = 1 if size is None else TOGETHER
    batches = -(-len(files) // together)
    # Loaders draw a seed for their workers; torch's own generator would miss it, and what a run
    # draws must not depend on whether its images were cached.
    loader: DataLoader[Any] = DataLoader(
        _Files(files, size, hashed),
        together,
        num_workers=0 if len(files) <= FEW else min(workers, batches),
        collate_fn=_packed,
        generator=torch.Generator(),
    )
    for states, pixels in loader:
        yield from _unpacked(states, pixels)


@dataclass(frozen=True)
class _Files(Dataset[Decoded]):
    files: Sequence[File]
    size: int | None
    hashed: bool

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, position: int) -> Decoded:
        hashing = hashlib.sha256() if self.hashed else None
        try:
            found = self.files[position].read(hashing)
        except (DataError, OSError) as error:
            return Decoded(NOTHING, problem=str(error))
        if self.size is not None:
            found = replace(found, pixels=resize(found.pixels[None], self.size)[0])
        return found if hashing is None else replace(found, content=hashing.hexdigest()[:32])


def _packed(states: list[Decoded]) -> tuple[list[tuple[Decoded, torch.Size]], Tensor]:
    """Pixels end to end: one tensor, so one shared file, for a batch."""
    bare = [(replace(state, pixels=NOTHING), state.pixels.shape) for state in states]
    return bare, torch.cat([state.pixels.reshape(-1) for state in states])


def _unpacked(states: list[tuple[Decoded, torch.Size]], pixels: Tensor) -> Iterator[Decoded]:
    parts = torch.split(pixels, [shape.numel() for _, shape in states])
    for (state, shape), part in zip(states, parts, strict=True):
        yield replace(state, pixels=part.view(shape))


class FileStore:
    """Images or scenes in files, decoded when they are needed.

    Args:
        files: the files, in order.
        lines: what stands in the fingerprint for each of them.
        size: side in pixels to resize to; None keeps the size of each.
        options: the cache of decoded images, and the number of processes that decode.
    """

    def __init__(
        self, files: Sequence[File], lines: Sequence[str], size: int | None, options: Options
    ) -> None:
        self.files, self.lines, self.size, self.options = files, lines, size, options
        self.fingerprint = fingerprint(lines)

    def __len__(self) -> int:
        return len(self.files)

    def fetch(self, indices: Sequence[Tensor]) -> Iterator[Fetched]:
        """Decode batches, or take them from the cache; see :meth:`Store.fetch`."""
        cache = self.options.cache
        batches = [[self.files[i] for i in index.tolist()] for index in indices]
        cached = [[cache.get(file, self.size) for file in batch] for batch in batches]
        found = zip(itertools.chain(*batches), itertools.chain(*cached), strict=True)
        missing = [file for file, pixels in found if pixels is None]
        states = read_files(missing, self.size, workers=self.options.processes)
        for files, batch in zip(batches, cached, strict=True):
            yield [
                self._decoded(file, next(states)) if pixels is None else pixels
                for file, pixels in zip(files, batch, strict=True)
            ]

    def _decoded(self, file: File, state: Decoded) -> Tensor:
        if state.problem:
            raise DataError(state.problem)
        self.options.cache.offer(file, self.size, state.pixels)
        return state.pixels


def joined(stores: Sequence[Store]) -> Store:
    """Several stores of a kind as one, in the given order."""
    files = [one for one in stores if isinstance(one, FileStore)]
    if files:
        everything = [file for one in files for file in one.files]
        lines = [line for one in files for line in one.lines]
        return FileStore(everything, lines, files[0].size, files[0].options)
    held = [one for one in stores if isinstance(one, MemoryStore)]
    channels = max(one.pixels.shape[1] for one in held)  # grey images become coloured if others are
    pixels = torch.cat([one.pixels.expand(-1, channels, -1, -1) for one in held])
    hashes = [one.content for one in held if one.content is not None]
    return MemoryStore(pixels, fingerprint(hashes) if hashes else None)
