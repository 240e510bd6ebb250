"""Scenes in files: an image and a mask each, decoded together by worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from typing_extensions import Self

from ..errors import DataError
from .decoding import decode
from .image_files import Options
from .inspection import FileState, content_hash, loader
from .masks import MaskEncoding
from .samples import ImageFormat
from .scenes import DomainScenes
from .splits import Split, fingerprint


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
