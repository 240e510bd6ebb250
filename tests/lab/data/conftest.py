"""Image folders, and the benchmarks over them."""

import os

import numpy as np
import pytest
from PIL import Image

from prorandconv.lab.data import Options, get_benchmark
from prorandconv.lab.data.benchmarks.photos import PACS_CLASSES as PACS


def names_of(samples):
    """Names of the files of samples, in order."""
    return [samples.store.files[position].name for position in samples.index.tolist()]


@pytest.fixture
def open_benchmark():
    """Opens a benchmark whose images are decoded in the process of the tests."""

    def opened(name, root, **options):
        return get_benchmark(name, root, Options(workers=0, **options))

    return opened


@pytest.fixture
def pacs(tmp_path, write):
    folders = ("art_painting", "cartoon", "photo", "sketch")
    write.tree(tmp_path / "pacs", folders, PACS, count=10)
    return tmp_path


@pytest.fixture
def own(tmp_path, write):
    write.tree(tmp_path / "mine", ("day", "night"), ("cat", "dog"), count=10)
    return tmp_path / "mine"


@pytest.fixture
def replace_pixels():
    """Puts another image into the place of one: same name, same size, same time of change."""

    def replace(path):
        before = path.stat()
        pixels = np.asarray(Image.open(path)).copy()
        pixels[..., 1] ^= 255
        Image.fromarray(pixels).save(path)
        assert path.stat().st_size == before.st_size
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return replace


@pytest.fixture
def uncompressed(tmp_path, write):
    """A user's own folders, of files in which other pixels take as many bytes."""
    write.tree(tmp_path / "bmp", ("day", "night"), ("cat", "dog"), count=10, suffix=".bmp")
    return tmp_path / "bmp"
