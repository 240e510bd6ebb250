"""Larger sets: files decoded by worker processes, and kept decoded up to a limit of bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ...errors import ProRandConvError
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
class Options:
    """How image folders are read; benchmarks in memory need none of it.

    Attributes:
        cache_bytes: limit of decoded images kept in memory, in bytes; 0 keeps none.
        workers: processes that decode; 0 decodes in the calling process, None means one for each
            core.
    """

    cache_bytes: int = CACHE_BYTES
    workers: int | None = None
    cache: DecodedCache = field(init=False)

    def __post_init__(self) -> None:
        if self.cache_bytes < 0:
            raise ProRandConvError.about("cache_bytes", self.cache_bytes, "a number from 0")
        if self.workers is not None and self.workers < 0:
            raise ProRandConvError.about("workers", self.workers, "None or a number from 0")
        object.__setattr__(self, "cache", DecodedCache(self.cache_bytes))


def unused_generator() -> torch.Generator:
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
            generator=unused_generator(),
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
