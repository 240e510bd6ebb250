"""MNIST-M's recipe: digits blended into photos by the absolute difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ...files import replacing
from ...progress import progress
from ..arrays import ArrayDomain
from ..benchmarks import get_benchmark
from ..decoding import SUFFIXES, decode
from ..folders import folder_of

Pixels = NDArray[np.uint8]


def blend(digits: Pixels, photos: Sequence[Pixels], random: np.random.Generator) -> Pixels:
    """Invert random crops of photos where the digits are.

    Args:
        digits: ``(N, H, W)``, bright on dark.
        photos: ``(height, width, 3)`` each, at least as large as a digit.
        random: chooses photo and crop.

    Returns:
        ``(N, H, W, 3)``: abs(crop - digit).
    """
    count, height, width = digits.shape
    blended = np.empty((count, height, width, 3), np.uint8)
    for digit, result in zip(digits, blended, strict=True):
        photo = photos[int(random.integers(len(photos)))]
        top = random.integers(photo.shape[0] - height + 1)
        left = random.integers(photo.shape[1] - width + 1)
        crop = photo[top : top + height, left : left + width].astype(np.int16)
        result[:] = np.abs(crop - digit[..., None])
    return blended


def read_photos(folder: Path, *, at_least: int) -> list[Pixels]:
    """All photos in a folder and those below, in order of their paths: BSDS500 as it comes.

    Args:
        folder: where to look.
        at_least: side that a photo must have to be of use; smaller ones are left out.
    """
    if not folder.is_dir():
        raise DataError.at(folder, "no such folder", "expected photos, such as BSDS500's images")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.casefold() in SUFFIXES)
    photos = []
    with progress("reading photos", len(paths), unit="photos") as advance:
        for path in paths:
            pixels = decode(path).pixels
            if pixels.shape[0] == 3 and min(pixels.shape[1:]) >= at_least:
                photos.append(np.ascontiguousarray(pixels.permute(1, 2, 0).numpy()))
            advance(1)
    if not photos:
        raise DataError.at(
            folder,
            f"no colour photo of {at_least} × {at_least} pixels or more among {len(paths)} images",
            "name a folder of photos, such as BSDS500/data/images",
        )
    return photos


def make_mnist_m(root: Path, photos: Path, *, seed: int = 0) -> Path:
    """Build MNIST-M's like from MNIST and a folder of photos, such as BSDS500.

    Args:
        root: the folder of data sets, with MNIST in it.
        photos: where photos are, at any depth.
        seed: of the choice of crops.

    Returns:
        The file written: ``digits/mnist_m_rebuilt.npz``.
    """
    mnist = get_benchmark("digits", root).domain("mnist")
    assert isinstance(mnist, ArrayDomain)
    present = mnist.parts()
    if not present:
        raise mnist.absent()
    stored = {part: mnist.read(part) for part in present}
    grounds = read_photos(photos, at_least=max(stored[present[0]].images.shape[1:3]))
    random = np.random.default_rng(seed)
    arrays: dict[str, NDArray[Any]] = {}
    for part, digits in stored.items():
        arrays[f"x_{part}"] = blend(digits.images, grounds, random)
        arrays[f"y_{part}"] = digits.labels
    return _written(root, "mnist_m_rebuilt", arrays)


def _written(root: Path, name: str, arrays: dict[str, NDArray[Any]]) -> Path:
    path = folder_of(root, "digits") / f"{name}.npz"
    with replacing(path) as temporary:
        np.savez(temporary, **arrays)  # type: ignore[arg-type]
    return path
