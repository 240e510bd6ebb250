"""Stand-ins for data sets that a user lacks, made from what the user has."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ...files import replacing
from ..array_domain import ArrayDomain
from ..benchmarks import get_benchmark
from ..folders import folder_of
from .mnist_m import blend, read_photos
from .rendered import Style, fonts_of_machine, render

Made = Literal["mnist_m_rebuilt", "syn_rendered"]

SYN_TEST_IMAGES = 9_553


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


def make_syn(
    root: Path, *, train_images: int = 25_000, test_images: int = SYN_TEST_IMAGES, seed: int = 0
) -> Path:
    """Render digits like SYN's with the fonts found on this machine.

    Args:
        root: the folder of data sets.
        train_images: how many for training (SYN has 479,400).
        test_images: how many for testing (SYN has 9,553).
        seed: of all variation.

    Returns:
        The file written: ``digits/syn_rendered.npz``.
    """
    if train_images < 0 or test_images < 1:
        raise DataError.about(
            "train_images, test_images", (train_images, test_images), "from 0, and from 1"
        )
    typefaces = fonts_of_machine()
    random = np.random.default_rng(seed)
    arrays: dict[str, NDArray[Any]] = {}
    for part, count in (("test", test_images), ("train", train_images)):
        if count:
            labels = np.arange(count, dtype=np.int64) % 10
            random.shuffle(labels)
            arrays[f"y_{part}"] = labels
            arrays[f"x_{part}"] = render(labels.tolist(), typefaces, Style(neighbours=0.4), random)
    return _written(root, "syn_rendered", arrays)


def _written(root: Path, name: str, arrays: dict[str, NDArray[Any]]) -> Path:
    path = folder_of(root, "digits") / f"{name}.npz"
    with replacing(path) as temporary:
        np.savez(temporary, **arrays)  # type: ignore[arg-type]
    return path
