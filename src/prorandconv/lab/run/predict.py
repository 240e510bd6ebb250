"""Image files in, classes out; a bad file does not stop the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from ...errors import ProRandConvError
from ..data import ImageFormat
from ..data.augmentation import normalise, resize
from ..data.decoding import decode, list_images
from ..errors import DataError
from ..files import replacing
from ..sheets import colours_of, overlaid, palette_image
from ..tasks import get_task
from .environment import autocast


@dataclass(frozen=True)
class Prediction:
    """What a network takes an image for, or why there is no answer."""

    path: Path
    top: tuple[tuple[str, float], ...] = ()
    """the likeliest classes with their probabilities, the likeliest first"""
    problem: str = ""
    """why the file cannot be used; empty if it can"""

    COLUMNS: ClassVar = ("image", "rank", "class", "probability", "problem")
    """of :attr:`rows`"""

    @property
    def label(self) -> str:
        """The likeliest class."""
        return self.top[0][0]

    @property
    def probability(self) -> float:
        """Its probability."""
        return self.top[0][1]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The likeliest classes, a row each, or one row with the problem."""
        if self.problem:
            return [(self.path, "", "", "", self.problem)]
        ranked = enumerate(self.top, 1)
        return [(self.path, rank, name, f"{chance:.6f}", "") for rank, (name, chance) in ranked]

    def answer(self, top: int) -> str:
        """So many classes in a line, the likeliest first."""
        return ", ".join(f"{name} ({100 * chance:.1f} %)" for name, chance in self.top[:top])

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for JSON."""
        classes = [{"class": name, "probability": chance} for name, chance in self.top]
        return {"image": str(self.path), "classes": classes, "problem": self.problem}


def image_files(paths: Iterable[Path]) -> list[Path]:
    """Files as they are given, and the image files of folders, at any depth and by name.

    A folder without image files is kept: it is no image, and is reported as such.
    """
    found: list[Path] = []
    for path in paths:
        found += (list_images(path) if path.is_dir() else []) or [path]
    return found


def predict(
    network: nn.Module,
    format: ImageFormat,
    classes: Sequence[str],
    files: Sequence[Path],
    *,
    top: int = 1,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
) -> Iterator[Prediction]:
    """Classify image files, in batches.

    Args:
        network: in evaluation mode, on the device.
        format: how images reach the network.
        classes: names of the network's outputs.
        files: images in any format and size.
        top: how many classes to tell of each image.
        device: where the network is.
        precision: the numeric precision of the run that the network comes from.

    Yields:
        A prediction for each file, in order.
    """
    if not 1 <= top <= len(classes):
        raise ProRandConvError.about("top", top, f"a number from 1 to the {len(classes)} classes")
    device = torch.device(device)
    size = get_task("classification").batch_size(format)
    for start in range(0, len(files), size):
        part = files[start : start + size]
        images: list[Tensor] = []
        problems: dict[Path, str] = {}
        for path in part:
            try:
                pixels = resize(decoded(path)[None], format.image_size)
                images.append(normalise(pixels, format.mean, format.std))
            except DataError as error:
                problems[path] = error.problem or str(error)
        answers: Iterator[tuple[list[float], list[int]]] = iter(())
        if images:
            with torch.inference_mode(), autocast(device, precision):
                chances = network(torch.cat(images).to(device)).float().softmax(1).topk(top)
            answers = zip(chances.values.tolist(), chances.indices.tolist(), strict=True)
        for path in part:
            if path in problems:
                yield Prediction(path, problem=problems[path])
            else:
                found, indices = next(answers)
                names = (classes[index] for index in indices)
                yield Prediction(path, tuple(zip(names, found, strict=True)))


def decoded(path: Path) -> Tensor:
    """The pixels of an image file; refuses folders, which :func:`image_files` has kept."""
    if path.is_dir():
        raise DataError.at(path, "a folder without image files", "name image files")
    return decode(path, upright=True).pixels


@dataclass(frozen=True)
class SegmentedFile:
    """Where the classes of an image's pixels were written, or why there are none."""

    path: Path
    labels: Path | None = None
    """a PNG of the image's size, whose pixels are the numbers of classes, with their colours"""
    overlay: Path | None = None
    """the image with these colours laid over it"""
    shares: dict[str, float] = field(default_factory=dict)
    """of the pixels, by the classes that were found, the largest first"""
    problem: str = ""
    """why the file cannot be used; empty if it can"""

    COLUMNS: ClassVar = ("image", "class", "share", "labels", "overlay", "problem")
    """of :attr:`rows`"""

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The classes that were found, a row each, or one row with the problem."""
        if self.problem:
            return [(self.path, "", "", "", "", self.problem)]
        files = (self.labels, self.overlay, "")
        return [(self.path, name, f"{share:.6f}", *files) for name, share in self.shares.items()]

    def answer(self, top: int) -> str:
        """So many classes in a line, the largest first, and what was written."""
        shares = list(self.shares.items())[:top]
        classes = ", ".join(f"{name} ({100 * share:.1f} %)" for name, share in shares)
        return f"{classes}; {self.labels}, {self.overlay}"

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "image": str(self.path),
            "labels": None if self.labels is None else str(self.labels),
            "overlay": None if self.overlay is None else str(self.overlay),
            "shares": self.shares,
            "problem": self.problem,
        }


def segmented(
    network: nn.Module,
    pixels: Tensor,
    format: ImageFormat,
    *,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
) -> Tensor:
    """The class of each pixel of an image of any size, uint8 ``(H, W)``.

    Args:
        network: in evaluation mode, on the device.
        pixels: uint8 ``(1 or 3, H, W)``.
        format: how images reach the network.
        device: where the network is.
        precision: the numeric precision of the run that the network comes from.
    """
    device = torch.device(device)
    images = normalise(pixels[None], format.mean, format.std).to(device)
    with torch.inference_mode(), autocast(device, precision):
        found: Tensor = network(images).argmax(1)[0]
    return found.to(torch.uint8).cpu()


def segment_files(
    network: nn.Module,
    format: ImageFormat,
    classes: Sequence[str],
    files: Sequence[Path],
    output: Path,
    *,
    device: torch.device | str = "cpu",
    precision: str = "32-true",
) -> Iterator[SegmentedFile]:
    """Segment image files, one by one.

    Args:
        network: in evaluation mode, on the device.
        format: how images reach the network.
        classes: names of the network's outputs.
        files: images in any format and size.
        output: the folder to write to.
        device: where the network is.
        precision: the numeric precision of the run that the network comes from.

    Yields:
        What was written for each file, in order.
    """
    colours = colours_of(classes)
    taken: dict[str, int] = {}
    for path in files:
        try:
            pixels = decoded(path)
        except DataError as error:
            yield SegmentedFile(path, problem=error.problem or str(error))
            continue
        labels = segmented(network, pixels, format, device=device, precision=precision)
        taken[path.stem] = taken.get(path.stem, 0) + 1
        name = path.stem if taken[path.stem] == 1 else f"{path.stem}-{taken[path.stem]}"
        written = {kind: output / f"{name}-{kind}.png" for kind in ("labels", "overlay")}
        shown = overlaid(pixels.expand(3, -1, -1), labels, colours).permute(1, 2, 0).numpy()
        with replacing(written["labels"]) as temporary:
            palette_image(labels, colours).save(temporary, "PNG")
        with replacing(written["overlay"]) as temporary:
            Image.fromarray(np.ascontiguousarray(shown)).save(temporary, "PNG")
        counts = torch.bincount(labels.flatten().long(), minlength=len(classes))
        order = [i for i in counts.argsort(descending=True).tolist() if counts[i]]
        shares = {classes[i]: float(counts[i]) / labels.numel() for i in order}
        yield SegmentedFile(path, written["labels"], written["overlay"], shares)
