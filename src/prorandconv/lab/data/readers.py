"""Readers of small data sets: files in, arrays of images and labels out."""

from __future__ import annotations

import bz2
import gzip
import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..files import reading, replacing
from ..progress import progress
from .decoding import decode

DIGITS = 10

_DAMAGED = "fetch or copy it again"


@dataclass(frozen=True)
class Arrays:
    """Images and labels as they are stored."""

    images: NDArray[np.uint8]
    """``(N, H, W)`` for grey, ``(N, H, W, 3)`` for colour"""
    labels: NDArray[np.int64]
    """``(N,)``, from 0"""


def checked(path: Path, images: NDArray[Any], labels: NDArray[Any]) -> Arrays:
    """Arrays of images of digits and their labels; others raise an error.

    Args:
        path: where they come from, for the message.
        images: what should be uint8 ``(N, H, W)``, ``(N, H, W, 1)`` or ``(N, H, W, 3)``.
        labels: what should be integers ``(N,)`` from 0 to 9.
    """
    if images.ndim == 4 and images.shape[-1] == 1:
        images = images[..., 0]
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[-1] != 3):
        raise DataError.at(
            path,
            f"images have shape {images.shape}",
            "expected (N, H, W), (N, H, W, 1) or (N, H, W, 3): transpose before saving",
        )
    if images.dtype != np.uint8:
        raise DataError.at(
            path, f"images are {images.dtype}", "expected uint8 from 0 to 255: scale and convert"
        )
    labels = labels.reshape(-1) if labels.ndim == 2 and 1 in labels.shape else labels
    if labels.shape != images.shape[:1]:
        raise DataError.at(
            path,
            f"labels have shape {labels.shape} for {len(images)} images",
            "expected one label for each image",
        )
    whole = labels.astype(np.int64)
    wrong = np.flatnonzero((whole < 0) | (whole >= DIGITS) | (whole != labels))
    if len(wrong):
        first = wrong[0]
        raise DataError.at(
            path,
            f"{len(wrong)} label(s) out of range, the first is {labels[first]} at {first}",
            f"expected integers from 0 to {DIGITS - 1}",
        )
    if not len(images):
        raise DataError.at(path, "holds no images", _DAMAGED)
    return Arrays(np.ascontiguousarray(images), whole)


def read_idx(images: Path, labels: Path) -> Arrays:
    """MNIST's pair of idx files."""
    from torchvision.datasets import mnist

    loaded = []
    for path, read in ((images, mnist.read_image_file), (labels, mnist.read_label_file)):
        with reading(path, "not an idx file, or a truncated one", _DAMAGED):
            loaded.append(read(str(path)).numpy())
    return checked(images, loaded[0], loaded[1])


def _loaded_mat(path: Path, names: Sequence[str], expected: str) -> list[Any]:
    from scipy.io import loadmat

    with reading(path, "not a .mat file, or a truncated one", _DAMAGED):
        stored = loadmat(str(path))
    if any(name not in stored for name in names):
        names_in = ", ".join(name for name in stored if not name.startswith("__")) or "nothing"
        raise DataError.at(path, f"holds {names_in}", f"expected {expected}")
    return [stored[name] for name in names]


def read_mat(path: Path) -> Arrays:
    """SVHN's and SYN's .mat: X ``(32, 32, 3, N)`` and y, where SVHN calls the digit 0 10."""
    images, labels = _loaded_mat(path, ("X", "y"), "arrays X and y, as in SVHN's files")
    labels = labels.reshape(-1)
    if images.ndim != 4 or images.shape[2] != 3:
        raise DataError.at(path, f"X has shape {images.shape}", "expected (H, W, 3, N)")
    return checked(path, images.transpose(3, 0, 1, 2), np.where(labels == 10, 0, labels))


def read_usps(path: Path) -> Arrays:
    """USPS as bzip2-compressed libsvm text, the way torchvision downloads it."""
    from torchvision.datasets import USPS

    with reading(path, "not bzip2-compressed libsvm text of 256 pixels a line", _DAMAGED):
        stored = USPS(str(path.parent), train=path.name == "usps.bz2")
    return checked(path, stored.data, np.asarray(stored.targets))


def count_usps(path: Path) -> NDArray[np.int64]:
    """Labels of a USPS file, without its pixels."""
    with reading(path, "not bzip2-compressed libsvm text", _DAMAGED), bz2.open(path) as lines:
        return np.array([int(line.split(maxsplit=1)[0]) - 1 for line in lines])


def npz_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in an .npz file."""
    with (
        reading(path, "not an .npz file, or a truncated one", _DAMAGED),
        np.load(path, allow_pickle=False) as stored,
    ):
        return tuple(stored.files)


def read_npz(path: Path, part: str) -> Arrays:
    """x_train and y_train, or x_test and y_test, of an .npz file."""
    names = (f"x_{part}", f"y_{part}")
    there = npz_names(path)
    if missing := [name for name in names if name not in there]:
        raise DataError.at(
            path,
            f"has no {' and no '.join(missing)}, only {', '.join(there) or 'nothing'}",
            "expected x_train, y_train, x_test, y_test, or one of the two pairs",
        )
    with (
        reading(path, "cannot be read", _DAMAGED),
        np.load(path, allow_pickle=False) as stored,
    ):
        images, labels = (stored[name] for name in names)
    return checked(path, images, labels)


def write_npz(path: Path, parts: Mapping[str, Arrays]) -> None:
    """Write parts as ``read_npz`` reads them, whole or not at all."""
    arrays: dict[str, Any] = {}
    for part, stored in parts.items():
        arrays |= {f"x_{part}": stored.images, f"y_{part}": stored.labels}
    try:
        with replacing(path) as temporary:
            np.savez(temporary, **arrays)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise DataError.at(path, reason, "check permissions and free space") from error


def _listed(listing: Path) -> tuple[list[str], NDArray[np.int64]]:
    names, labels = [], []
    for number, line in enumerate(listing.read_text().splitlines(), 1):
        if not line.strip():
            continue
        fields = line.split()
        if len(fields) != 2 or not fields[1].isdigit():
            raise DataError.at(
                listing, f"line {number} is {line!r}", "expected a file name and a digit"
            )
        names.append(fields[0])
        labels.append(int(fields[1]))
    return names, np.array(labels, np.int64)


def count_png_list(folder: Path, listing: Path) -> NDArray[np.int64]:
    """Labels of a list of PNGs, without the images."""
    return _listed(listing)[1]


def read_png_list(folder: Path, listing: Path) -> Arrays:
    """MNIST-M as published: a folder of PNGs and a list of lines ``00000000.png 7``."""
    names, labels = _listed(listing)
    pictures, broken = [], []
    with progress(f"reading {folder.name}", len(names), unit="images") as advance:
        for name in names:
            try:
                pixels = decode(folder / name).pixels
                pictures.append(pixels.expand(3, *pixels.shape[1:]).permute(1, 2, 0).numpy())
            except DataError as error:
                broken.append(str(error))
            advance(1)
    if broken:
        raise DataError("\n".join(broken))
    sizes = {picture.shape for picture in pictures}
    if len(sizes) > 1:
        raise DataError.at(folder, f"images differ in size: {sorted(sizes)}", _DAMAGED)
    images = np.stack(pictures) if pictures else np.zeros((0, 1, 1, 3), np.uint8)
    return checked(listing, images, labels)


class _ArraysOnly(pickle.Unpickler):
    """Admits what an array is made of and nothing else: a pickle can otherwise run any code."""

    _admitted = frozenset(
        {
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy.core.numeric", "_frombuffer"),
            ("numpy._core.numeric", "_frombuffer"),
            ("_codecs", "encode"),
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._admitted:
            raise pickle.UnpicklingError(f"{module}.{name} is not an array")
        return super().find_class(module, name)


def _unpickled(path: Path) -> Any:
    with reading(path, "not a pickle of arrays", _DAMAGED):
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw  # whatever its name says
        return _ArraysOnly(io.BytesIO(raw), encoding="bytes").load()


def read_pairs(path: Path, part: str) -> Arrays:
    """USPS at 28 pixels: two pairs, train and test, of images in [0, 1] and labels.

    Args:
        path: Digit-Five's .mat, whose array ``dataset`` has the pairs as rows, or CoGAN's pickle.
        part: ``"train"`` or ``"test"``.
    """
    expected = "two pairs, train and test, of images (N, 1, 28, 28) from 0 to 1 and labels"
    if path.suffix == ".mat":
        (pairs,) = _loaded_mat(path, ("dataset",), f"an array 'dataset' of {expected}")
    else:
        pairs = _unpickled(path)
    with reading(path, "holds something else", f"expected {expected}"):
        images, labels = (np.asarray(one) for one in pairs[("train", "test").index(part)])
        low, high = images.min(), images.max()
    if images.shape[1:] != (1, 28, 28) or not (low >= 0 and high <= 1):
        found = f"{part} images have shape {images.shape} and go from {low} to {high}"
        raise DataError.at(path, found, f"expected {expected}")
    return checked(path, (images[:, 0] * 255).round().astype(np.uint8), labels)


def read_pickle(path: Path, part: str, labels: NDArray[np.int64]) -> Arrays:
    """MNIST-M's 10,000-image pickle: a dictionary of arrays, whose labels are MNIST's own.

    Args:
        path: the pickle, plain or gzip-compressed.
        part: ``"train"`` or ``"test"``.
        labels: MNIST's labels of that part.
    """
    stored = _unpickled(path)
    keyed = (
        {k.decode() if isinstance(k, bytes) else k: v for k, v in stored.items()}
        if isinstance(stored, dict)
        else {}
    )
    if not isinstance(keyed.get(part), np.ndarray):
        raise DataError.at(path, f"has no array {part!r}", "expected arrays 'train' and 'test'")
    images = keyed[part]
    if len(images) != len(labels):
        raise DataError.at(
            path,
            f"{len(images)} {part} images, but MNIST has {len(labels)} labels",
            "expected MNIST's images in MNIST's order",
        )
    return checked(path, images, labels)
