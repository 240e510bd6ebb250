"""Image files in, classes out; a bad file does not stop the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ...errors import ProRandConvError
from ..data.augmentation import normalise, resize
from ..data.decoding import decode, list_images
from ..errors import DataError
from ..files import replacing
from ..sheets import colours_of, overlaid, palette_image
from ..tasks import get_task
from .environment import autocast

if TYPE_CHECKING:
    from .trained import Trained


@dataclass(frozen=True)
class Prediction:
    """The predicted classes of an image file, or why there are none."""

    path: Path
    top: tuple[tuple[str, float], ...] = ()
    """the likeliest classes with their probabilities, the likeliest first"""
    problem: str = ""
    """why the file cannot be used; empty if it can"""

    COLUMNS: ClassVar[tuple[str, ...]] = ("image", "rank", "class", "probability", "problem")
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
            return [(self.path, *[""] * (len(self.COLUMNS) - 2), self.problem)]
        return [self._row(rank, *one) for rank, one in enumerate(self.top, 1)]

    def _row(self, rank: int, name: str, share: float) -> tuple[Any, ...]:
        return (self.path, rank, name, f"{share:.6f}", "")

    def answer(self, top: int) -> str:
        """At most ``top`` classes in a line, the likeliest first."""
        return ", ".join(f"{name} ({100 * share:.1f} %)" for name, share in self.top[:top])

    def to_mapping(self) -> dict[str, Any]:
        """JSON values."""
        classes = [{"class": name, "probability": chance} for name, chance in self.top]
        return {"image": str(self.path), "classes": classes, "problem": self.problem}


@dataclass(frozen=True)
class SegmentedFile(Prediction):
    """The predicted classes of an image's pixels by their share, and where they were written."""

    labels: Path | None = None
    """a PNG of the image's size, whose pixels are the numbers of classes, with their colours"""
    overlay: Path | None = None
    """the image with these colours laid over it"""

    COLUMNS: ClassVar = ("image", "class", "share", "labels", "overlay", "problem")

    def _row(self, rank: int, name: str, share: float) -> tuple[Any, ...]:
        return (self.path, name, f"{share:.6f}", self.labels, self.overlay, "")

    def answer(self, top: int) -> str:
        """At most ``top`` classes in a line, the largest first, and what was written."""
        return f"{super().answer(top)}; {self.labels}, {self.overlay}"

    def to_mapping(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "image": str(self.path),
            "labels": None if self.labels is None else str(self.labels),
            "overlay": None if self.overlay is None else str(self.overlay),
            "shares": dict(self.top),
            "problem": self.problem,
        }


def image_files(paths: Iterable[Path]) -> list[Path]:
    """Files as they are given, and the image files of folders, at any depth and by name.

    A folder without image files is kept: it is no image, and is reported as such.
    """
    found: list[Path] = []
    for path in paths:
        found += (list_images(path) if path.is_dir() else []) or [path]
    return found


def predict(trained: Trained, files: Sequence[Path], top: int = 1) -> Iterator[Prediction]:
    """Classify image files of any format and size, in batches; yields in their order."""
    form, classes = trained.format, trained.classes
    if not 1 <= top <= len(classes):
        raise ProRandConvError.about("top", top, f"a number from 1 to the {len(classes)} classes")
    size = get_task("classification").batch_size(form)
    for start in range(0, len(files), size):
        images: list[Tensor] = []
        problems: dict[Path, str] = {}
        for path in files[start : start + size]:
            try:
                pixels = resize(decoded(path)[None], form.image_size)
                images.append(normalise(pixels, form.mean, form.std))
            except DataError as error:
                problems[path] = error.problem or str(error)
        answers: Iterator[tuple[list[float], list[int]]] = iter(())
        if images:
            with torch.inference_mode(), autocast(trained.device, trained.precision):
                logits = trained.network(torch.cat(images).to(trained.device))
                chances = logits.float().softmax(1).topk(top)
            answers = zip(chances.values.tolist(), chances.indices.tolist(), strict=True)
        for path in files[start : start + size]:
            if path in problems:
                yield Prediction(path, problem=problems[path])
            else:
                values, indices = next(answers)
                names = (classes[index] for index in indices)
                yield Prediction(path, tuple(zip(names, values, strict=True)))


def decoded(path: Path) -> Tensor:
    """The pixels of an image file; a folder, which :func:`image_files` has kept, is an error."""
    if path.is_dir():
        raise DataError.at(path, "a folder without image files", "name image files")
    return decode(path, upright=True).pixels


def segmented(trained: Trained, pixels: Tensor) -> Tensor:
    """The class of each pixel, uint8 ``(H, W)``, of an image, uint8 ``(1 or 3, H, W)``."""
    images = normalise(pixels[None], trained.format.mean, trained.format.std)
    with torch.inference_mode(), autocast(trained.device, trained.precision):
        classes: Tensor = trained.network(images.to(trained.device)).argmax(1)[0]
    return classes.to(torch.uint8).cpu()


def segment_files(trained: Trained, files: Sequence[Path], output: Path) -> Iterator[SegmentedFile]:
    """Segment image files one by one, and write labels and overlays into a folder."""
    colours, classes = colours_of(trained.classes), trained.classes
    taken: dict[str, int] = {}
    for path in files:
        try:
            pixels = decoded(path)
        except DataError as error:
            yield SegmentedFile(path, problem=error.problem or str(error))
            continue
        labels = segmented(trained, pixels)
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
        shares = tuple((classes[i], float(counts[i]) / labels.numel()) for i in order)
        yield SegmentedFile(path, shares, "", written["labels"], written["overlay"])
