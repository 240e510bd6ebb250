"""Stand-ins for data sets of Digits that a user does not have, made from what the user has."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import DataError
from .arrays import ArrayDomain
from .benchmarks import get_benchmark
from .folders import folder_of
from .readers import Arrays, write_npz
from .rendered import Style, blend, fonts_of_machine, read_photos, render

SYN_TEST_IMAGES = 9_553


def make_mnist_m(root: Path, photos: Path, *, seed: int = 0) -> Path:
    """Build MNIST-M's like from MNIST and a folder of photos, such as BSDS500.

    Returns:
        The file written: ``digits/mnist_m_rebuilt.npz``.
    """
    mnist = get_benchmark("digits", root).domain("mnist")
    assert isinstance(mnist, ArrayDomain)
    if not mnist.parts():
        raise mnist.not_found()
    stored = {part: mnist.read(part) for part in mnist.parts()}
    side = max(max(digits.images.shape[1:3]) for digits in stored.values())
    backgrounds = read_photos(photos, at_least=side)
    random = np.random.default_rng(seed)
    made = {
        part: Arrays(blend(digits.images, backgrounds, random), digits.labels)
        for part, digits in stored.items()
    }
    path = mnist.folder / "mnist_m_rebuilt.npz"
    write_npz(path, made)
    return path


def make_syn(
    root: Path, *, train_images: int = 25_000, test_images: int = SYN_TEST_IMAGES, seed: int = 0
) -> Path:
    """Render digits like SYN's with the fonts found on this machine.

    Returns:
        The file written: ``digits/syn_rendered.npz``.
    """
    if train_images < 0 or test_images < 1:
        raise DataError.about(
            "train_images, test_images", (train_images, test_images), "from 0, and from 1"
        )
    typefaces = fonts_of_machine()
    random = np.random.default_rng(seed)
    made = {}
    for part, count in (("test", test_images), ("train", train_images)):
        if count:
            labels = np.arange(count, dtype=np.int64) % 10
            random.shuffle(labels)
            images = render(labels.tolist(), typefaces, Style(neighbours=0.4), random)
            made[part] = Arrays(images, labels)
    path = folder_of(root, "digits") / "syn_rendered.npz"
    write_npz(path, made)
    return path
