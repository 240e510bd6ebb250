"""The paper's Digits benchmark: MNIST, SVHN, MNIST-M, SYN and USPS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torchvision.datasets import MNIST, SVHN, USPS

from ...errors import DataError
from ..arrays import DIGIT_NAMES, ArrayDomain, FileLayout, Layout, NpzLayout
from ..benchmark import DIGITS_RECIPE, Benchmark, Published
from ..download import Download
from ..folders import folder_of
from ..images import ImageFormat
from ..readers import (
    Arrays,
    count_png_list,
    count_usps,
    read_idx,
    read_mat,
    read_pairs,
    read_pickle,
    read_png_list,
    read_usps,
)
from ..stores import Options

FORMAT = ImageFormat(32, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), base_augmentation=False)

MNIST_TRAINING_IMAGES = 10_000

PUBLISHED: Published = {
    "mnist": {
        "train": (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        "test": (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    },
    "svhn": {
        "train": (4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659),
        "test": (1744, 5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595),
    },
    "mnist_m": {"train": 59_001, "test": 9_001},
    "syn": {"train": 479_400, "test": 9_553},
    "usps": {
        "train": (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
        "test": (359, 264, 198, 166, 200, 160, 170, 147, 166, 177),
    },
    "mnist_m_b": {"train": 60_000, "test": 10_000},
    "usps_28": {"train": 7_438, "test": 1_860},
}

SOURCES = """\
MNIST, SVHN, USPS   downloaded by this command
MNIST-M (set A)     https://yaroslav.ganin.net: mnist_m.tar.gz, unpacked as digits/mnist_m/
                    mnist_m_test/*.png with mnist_m_test_labels.txt (and the same for train)
MNIST-M (set B)     https://github.com/VanushVaswani/keras_mnistm: keras_mnistm.pkl.gz as it is,
                    in digits/; its labels are MNIST's
SYN                 https://yaroslav.ganin.net: SynthDigits.zip, unpacked as
                    digits/synth_train_32x32.mat and digits/synth_test_32x32.mat
USPS at 28 pixels   usps_28x28.mat of Digit-Five, or usps_28x28.pkl of
                    https://github.com/mingyuliutw/CoGAN, in digits/; another choice of images
any of them         digits/NAME.npz with x_train, y_train, x_test, y_test: uint8 (N, H, W) or
                    (N, H, W, 3), labels from 0 to 9
without MNIST-M     prorandconv data make mnist_m_rebuilt --photos FOLDER (BSDS500 or any photos)
without SYN         prorandconv data make syn_rendered (a stand-in, not SYN)"""

_IDX = FileLayout(
    "MNIST/raw/*-ubyte",
    {
        "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    },
    read_idx,
    folders=("MNIST/raw",),
)


@dataclass(frozen=True)
class _PickleLayout(Layout):
    """MNIST-M's pickle, which has images only: the labels are those of MNIST beside it."""

    description: str = "keras_mnistm.pkl.gz (or .pkl) beside MNIST"
    files: tuple[str, ...] = ("keras_mnistm.pkl", "keras_mnistm.pkl.gz")

    def where(self, folder: Path, part: str) -> Path | None:
        paths = (folder / inner / name for inner in ("", "mnist_m") for name in self.files)
        return next((path for path in paths if path.exists()), None)

    def read(self, folder: Path, part: str) -> Arrays:
        path = self.where(folder, part)
        assert path is not None
        mnist: Layout = _IDX if _IDX.where(folder, part) else NpzLayout("mnist.npz")
        if mnist.where(folder, part) is None:
            raise DataError.at(
                path, "has no labels of its own, and MNIST is not beside it", "fetch MNIST first"
            )
        return read_pickle(path, part, mnist.labels(folder, part))


@dataclass(frozen=True)
class _PairsLayout(Layout):
    """One file with the pairs (images, labels) of both parts."""

    description: str = "usps_28x28.mat or usps_28x28.pkl"

    def where(self, folder: Path, part: str) -> Path | None:
        names = [f"usps_28x28.{ending}" for ending in ("mat", "pkl", "pkl.gz")]
        paths = (folder / inner / name for inner in ("", "usps", "USPS") for name in names)
        return next((path for path in paths if path.exists()), None)

    def read(self, folder: Path, part: str) -> Arrays:
        path = self.where(folder, part)
        assert path is not None
        return read_pairs(path, part)


def _mat(prefix: str, folders: tuple[str, ...]) -> FileLayout:
    return FileLayout(
        f"{prefix}train_32x32.mat and {prefix}test_32x32.mat",
        {part: (f"{prefix}{part}_32x32.mat",) for part in ("train", "test")},
        read_mat,
        folders,
    )


_LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "mnist": (_IDX,),
    "svhn": (_mat("", ("", "svhn", "SVHN")),),
    "mnist_m": (
        FileLayout(
            "mnist_m/mnist_m_test/*.png with mnist_m_test_labels.txt",
            {p: (f"mnist_m_{p}", f"mnist_m_{p}_labels.txt") for p in ("train", "test")},
            read_png_list,
            folders=("mnist_m", "", "MNIST-M"),
            label_reader=count_png_list,
        ),
    ),
    "syn": (_mat("synth_", ("", "syn", "SYN", "SynthDigits")),),
    "usps": (
        FileLayout(
            "usps.bz2 and usps.t.bz2",
            {"train": ("usps.bz2",), "test": ("usps.t.bz2",)},
            read_usps,
            ("", "usps", "USPS"),
            count_usps,
        ),
    ),
    "mnist_m_b": (_PickleLayout(),),
    "usps_28": (_PairsLayout(),),
    "mnist_m_rebuilt": (),
    "syn_rendered": (),
}

_EXTRAS = {
    "mnist_m_b": "MNIST-M, set B: the 10,000 images that RandConv was tested on",
    "usps_28": "USPS at 28×28 pixels, 1,860 test images, as in Digit-Five",
    "mnist_m_rebuilt": "MNIST-M's recipe over photos of your own",
    "syn_rendered": "digits rendered like SYN's with the fonts of this machine; not SYN",
}


def _downloads(folder: Path) -> Iterator[Download]:
    """What torchvision knows how to download."""
    for name, md5 in MNIST.resources:
        part = "train" if name.startswith("train") else "test"
        urls = tuple(f"{mirror}{name}" for mirror in MNIST.mirrors)
        path = folder / "MNIST" / "raw" / name.removesuffix(".gz")
        yield Download("mnist", part, urls, md5, path)
    for domain, source in (("usps", USPS), ("svhn", SVHN)):
        for part in ("test", "train"):
            url, name, md5 = source.split_list[part]
            yield Download(domain, part, (url,), md5, folder / name)


def digits(root: Path, options: Options) -> Benchmark:
    """Digits: trained on MNIST's first 10,000 images, tested on the other domains."""
    folder = folder_of(root, "digits", "Digits")
    return Benchmark(
        name="digits",
        classes=DIGIT_NAMES,
        format=FORMAT,
        network="lenet",
        recipe=DIGITS_RECIPE,
        members={
            name: ArrayDomain(
                name,
                folder,
                (*layouts, NpzLayout(f"{name}.npz")),
                FORMAT,
                train_limit=MNIST_TRAINING_IMAGES if name == "mnist" else None,
                extra=_EXTRAS.get(name, ""),
            )
            for name, layouts in _LAYOUTS.items()
        },
        published=PUBLISHED,
        sources=SOURCES,
        downloads=tuple(_downloads(folder)),
    )
