"""The paper's Digits benchmark: MNIST, SVHN, MNIST-M, SYN and USPS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from torchvision.datasets import MNIST, SVHN, USPS

from ...errors import DataError
from ..arrays import DIGIT_NAMES, ArrayDomain, Layout, in_folders, npz
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

IDX = in_folders(
    "MNIST/raw/*-ubyte",
    {
        "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    },
    read_idx,
    folders=("MNIST/raw",),
)


def _one_of(folders: Sequence[str], names: Sequence[str]) -> Callable[[Path, str], list[Path]]:
    """Finds the first of several files that there is."""

    def find(folder: Path, part: str) -> list[Path]:
        paths = (folder / inner / name for inner in folders for name in names)
        return [path for path in paths if path.exists()][:1]

    return find


def _read_pickle(files: Sequence[Path], part: str) -> Arrays:
    """MNIST-M's pickle, which has images only: the labels are those of MNIST beside it."""
    (path,) = files
    folder = path.parent.parent if path.parent.name == "mnist_m" else path.parent
    for mnist in (IDX, npz("mnist.npz")):
        if found := mnist.find(folder, part):
            return read_pickle(path, part, mnist.labels(found, part))
    raise DataError.at(path, "has no labels, and MNIST is not beside it", "fetch MNIST first")


def _mat(prefix: str, folders: Sequence[str]) -> Layout:
    return in_folders(
        f"{prefix}train_32x32.mat and {prefix}test_32x32.mat",
        {part: (f"{prefix}{part}_32x32.mat",) for part in ("train", "test")},
        read_mat,
        folders,
    )


_LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "mnist": (IDX,),
    "svhn": (_mat("", ("", "svhn", "SVHN")),),
    "mnist_m": (
        in_folders(
            "mnist_m/mnist_m_test/*.png with mnist_m_test_labels.txt",
            {p: (f"mnist_m_{p}", f"mnist_m_{p}_labels.txt") for p in ("train", "test")},
            read_png_list,
            ("mnist_m", "", "MNIST-M"),
            count_png_list,
        ),
    ),
    "syn": (_mat("synth_", ("", "syn", "SYN", "SynthDigits")),),
    "usps": (
        in_folders(
            "usps.bz2 and usps.t.bz2",
            {"train": ("usps.bz2",), "test": ("usps.t.bz2",)},
            read_usps,
            ("", "usps", "USPS"),
            count_usps,
        ),
    ),
    "mnist_m_b": (
        Layout(
            "keras_mnistm.pkl.gz (or .pkl) beside MNIST",
            _one_of(("", "mnist_m"), ("keras_mnistm.pkl", "keras_mnistm.pkl.gz")),
            _read_pickle,
        ),
    ),
    "usps_28": (
        Layout(
            "usps_28x28.mat or usps_28x28.pkl",
            _one_of(
                ("", "usps", "USPS"), [f"usps_28x28.{end}" for end in ("mat", "pkl", "pkl.gz")]
            ),
            lambda files, part: read_pairs(files[0], part),
        ),
    ),
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
                (*layouts, npz(f"{name}.npz")),
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
