"""Larger sets: files decoded by worker processes, and kept decoded up to a limit of bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from ...errors import require
from ..errors import DataError
from .augmentation import resize
from .decoding import decode
from .images import DomainImages
from .inspection import FileState, content_hash, loader
from .masks import MaskEncoding
from .samples import ImageFormat
from .scenes import DomainScenes
from .splits import Split, fingerprint

CACHE_BYTES = 2 * 1024**3
"""Default limit of decoded images in memory: all of PACS at 224 pixels takes 1.1 GB."""


@dataclass
class DecodedCache:
    """Decoded images by path and size, up to a limit of bytes; what is in stays in.

    An epoch reads every image once in a new order: evicting the oldest would throw out exactly
    what the next epoch reads, so a full cache simply takes no more.
    """

    limit: int = CACHE_BYTES
    used: int = 0
    images: dict[tuple[Path, int | None], Tensor] = field(default_factory=dict)

    def offer(self, path: Path, size: int | None, image: Tensor) -> None:
        """Keep an image if there is room; without a size, it is that of the file."""
        key = (path, size)
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


def _decoded(path: Path, size: int) -> Tensor:
    return resize(decode(path).pixels[None], size)[0]


def _packed(images: list[Tensor]) -> tuple[Tensor, list[int]]:
    """Grey and colour images end to end: one tensor, so one shared file, for a batch."""
    return torch.cat([image.reshape(-1) for image in images]), [len(image) for image in images]


def _unpacked(packed: tuple[Tensor, list[int]], size: int) -> list[Tensor]:
    pixels, channels = packed
    lengths = [count * size * size for count in channels]
    return [part.view(-1, size, size) for part in torch.split(pixels, lengths)]


@dataclass(frozen=True)
class ImageFile:
    """A file of a domain.

    Attributes:
        name: ``domain/class/file``, the same on every machine.
        path: where it is.
        label: its class.
        content: a hash of its bytes.
    """

    name: str
    path: Path
    label: int
    content: str = ""


class FolderImages(DomainImages):
    """Images in files, decoded when they are needed.

    Args:
        files: the files, in order.
        classes: names of the classes.
        split: which split this is.
        format: how the images reach the network.
        options: the cache of decoded images, and the number of processes that decode.
    """

    def __init__(
        self,
        files: Sequence[ImageFile],
        *,
        classes: tuple[str, ...],
        split: Split,
        format: ImageFormat,
        options: Options,
    ) -> None:
        labels = torch.tensor([file.label for file in files], dtype=torch.int64)
        content = fingerprint(f"{file.name} {classes[file.label]} {file.content}" for file in files)
        super().__init__(labels, classes, split, format, content)
        self.files = tuple(files)
        self.names = tuple(file.name for file in files)
        self.paths = tuple(file.path for file in files)
        self.options = options

    def stored(self, indices: Sequence[Tensor]) -> Iterator[Tensor]:
        """Decode batches of images, or take them from the cache; see :meth:`Images.stored`."""
        size, cache = self.format.image_size, self.options.cache
        missing = [
            [i for i in index.tolist() if (self.paths[i], size) not in cache.images]
            for index in indices
        ]
        wanted = [positions for positions in missing if positions]
        batches = loader(
            self.paths,
            partial(_decoded, size=size),
            count=sum(map(len, wanted)),
            workers=min(self.options.processes, len(wanted)),
            batch_sampler=wanted,
            collate_fn=_packed,
        )
        decoded: Iterator[Any] = iter(batches) if wanted else iter(())
        for index, positions in zip(indices, missing, strict=True):
            images = _unpacked(next(decoded), size) if positions else []
            fresh = dict(zip(positions, images, strict=True))
            for i, image in fresh.items():
                cache.offer(self.paths[i], size, image)
            batch = [
                fresh[i] if i in fresh else cache.images[self.paths[i], size]
                for i in index.tolist()
            ]
            channels = max(len(image) for image in batch)
            yield torch.stack([image.expand(channels, size, size) for image in batch])

    @classmethod
    def joined(cls, sets: Sequence[Self]) -> Self:
        """The images of several sets as one, in the given order."""
        files = [file for part in sets for file in part.files]
        return cls(files, **sets[0].kind, options=sets[0].options)


@dataclass(frozen=True)
class SceneFile:
    """An image, its mask, and how the mask is written.

    Attributes:
        name: ``domain/file``, the same on every machine.
        image: where the image is.
        mask: where the mask is.
        encoding: how the mask is written.
    """

    name: str
    image: Path
    mask: Path
    encoding: MaskEncoding

    def read(self) -> Tensor:
        """Decode image and mask: uint8 ``(4, H, W)``, see :meth:`Scenes.stored`.

        Raises:
            DataError: a file is damaged, or the two do not fit together.
        """
        pixels = decode(self.image).pixels
        classes = self.encoding.read(self.mask)
        if pixels.shape[-2:] != classes.shape:
            own, other = (" × ".join(map(str, s[-2:])) for s in (classes.shape, pixels.shape))
            raise DataError.at(
                self.mask,
                f"is {own} pixels high and wide, but its image {self.image} is {other}",
                "export the mask in the size of its image",
            )
        return torch.cat([pixels.expand(3, -1, -1), classes[None]])


def look_at_scene(scene: SceneFile) -> FileState:
    """Decode image and mask; raises whatever is wrong with them."""
    scene.read()
    return FileState(content_hash(scene.image, scene.mask), decode(scene.image).conversion)


class FileScenes(DomainScenes):
    """Scenes in files, decoded when they are needed.

    Args:
        files: the scenes, in order, and a hash of the content of each.
        classes: names of the classes.
        split: which split this is.
        format: how the scenes reach the network.
        options: the cache of decoded scenes, and the number of processes that decode.
    """

    def __init__(
        self,
        files: dict[SceneFile, str],
        *,
        classes: tuple[str, ...],
        split: Split,
        format: ImageFormat,
        options: Options,
    ) -> None:
        content = fingerprint(f"{file.name} {content}" for file, content in files.items())
        super().__init__(classes, split, format, content)
        self.contents = files
        self.files = tuple(files)
        self.options = options

    def __len__(self) -> int:
        return len(self.files)

    def stored(self, indices: Sequence[int]) -> Iterator[Tensor]:
        """Decode scenes, or take them from the cache; see :meth:`Scenes.stored`."""
        cache = self.options.cache
        missing = [i for i in indices if (self.files[i].image, None) not in cache.images]
        scenes = loader(
            self.files,
            SceneFile.read,
            count=len(missing),
            workers=self.options.processes,
            batch_size=None,
            sampler=missing,
        )
        decoded = iter(scenes) if missing else iter(())
        wanted = iter([*missing, None])
        following = next(wanted)
        for i in indices:
            if i == following:
                scene: Tensor = next(decoded)
                cache.offer(self.files[i].image, None, scene)
                following = next(wanted)
                yield scene
            else:
                yield cache.images[self.files[i].image, None]

    @classmethod
    def joined(cls, sets: Sequence[Self]) -> Self:
        """The scenes of several sets as one, in the given order."""
        files = {file: content for part in sets for file, content in part.contents.items()}
        return cls(files, **sets[0].kind, options=sets[0].options)
