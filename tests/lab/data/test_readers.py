"""Files of every layout that are damaged, or hold something else."""

import collections
import os

import numpy as np
import pytest
from scipy.io import savemat

from prorandconv.lab.data import DataError, get_benchmark


def read(root, domain, part="test"):
    return get_benchmark("digits", root).domain(domain).read(part)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x_test": (12, 784), "y_test": (12,)}, r"shape \(12, 784\)"),
        ({"x_test": (12, 3, 32, 32), "y_test": (12,)}, r"\(12, 3, 32, 32\).*transpose"),
        ({"x_test": (12, 32, 32, 3), "y_test": (11,)}, r"shape \(11,\) for 12 images"),
        ({"x_test": (12, 32, 32, 3), "y_test": (12, 10)}, r"shape \(12, 10\) for 12"),
        ({"x_test": (0, 32, 32, 3), "y_test": (0,)}, "holds no images"),
        ({"x_test": (12, 32, 32)}, "has no y_test, only x_test"),
        ({"images": (12, 32, 32)}, "has no x_test and no y_test, only images"),
    ],
)
def test_wrong_shapes_in_npz_are_named(tmp_path, write, arrays, message):
    path = tmp_path / "digits" / "usps.npz"
    write.npz(path, **{name: np.zeros(shape, np.uint8) for name, shape in arrays.items()})
    with pytest.raises(DataError, match=f"usps.npz: .*{message}"):
        get_benchmark("digits", tmp_path).load("usps", "test")


def test_floats_are_refused_as_images(tmp_path, write):
    path = tmp_path / "digits" / "usps.npz"
    write.npz(path, x_test=np.zeros((3, 8, 8)), y_test=np.zeros(3, np.int64))
    with pytest.raises(DataError, match="images are float64; expected uint8"):
        read(tmp_path, "usps")


@pytest.mark.parametrize("wrong", [-1, 10, 2.5])
def test_labels_out_of_range_are_named(tmp_path, write, wrong):
    images, labels = write.digits(12)
    labels = labels.astype(np.float64)
    labels[7] = wrong
    write.npz(tmp_path / "digits" / "usps.npz", x_test=images, y_test=labels)
    with pytest.raises(DataError, match=f"out of range, the first is {wrong}.* at 7"):
        read(tmp_path, "usps")


@pytest.mark.parametrize("keep", [0, 3, 300])
def test_truncated_files_of_every_kind_are_named(tmp_path, write, keep):
    digits = tmp_path / "digits"
    write.idx(digits)
    write.mat(digits / "test_32x32.mat")
    write.usps(digits / "usps.t.bz2")
    images, labels = write.digits(12)
    write.npz(digits / "syn.npz", x_test=images, y_test=labels)
    write.pickle(digits / "keras_mnistm.pkl", {"test": images})
    files = {
        "svhn": digits / "test_32x32.mat",
        "usps": digits / "usps.t.bz2",
        "syn": digits / "syn.npz",
        "mnist_m_b": digits / "keras_mnistm.pkl",
        "mnist": digits / "MNIST" / "raw" / "t10k-images-idx3-ubyte",
    }
    benchmark = get_benchmark("digits", tmp_path)
    for domain, path in files.items():
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(DataError, match=path.name):
            benchmark.load(domain, "test")


class Harmful:
    """Code that a pickle would run."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def colour(count):
    return np.zeros((count, 28, 28, 3), np.uint8)


SET_B, USPS, LISTING = "keras_mnistm.pkl", "usps_28x28.pkl", "mnist_m/mnist_m_test_labels.txt"
OTHERS = {
    "arrays of other names": (
        *("svhn", "test_32x32.mat", {"digits": np.zeros(3)}, False),
        "holds digits; expected arrays X and y",
    ),
    "other objects": (
        *("mnist_m_b", SET_B, {"test": collections.Counter("ab")}, True),
        r"collections\.Counter",
    ),
    "no labels": (
        *("mnist_m_b", SET_B, {"test": colour(12)}, False),
        "no labels, and MNIST is not beside it; fetch MNIST",
    ),
    "another length": (
        *("mnist_m_b", SET_B, {"test": colour(11)}, True),
        "11 test images, but MNIST has 12",
    ),
    **{
        f"no pairs: {content!r:.20}": ("usps_28", USPS, content, False, "; expected two pairs")
        for content in ({"test": np.zeros(3)}, [], [(np.zeros(3), np.zeros(3))] * 2)
    },
    **{
        f"the line {line!r}": ("mnist_m", LISTING, f"00000001.png 1\n{line}\n", False, "line 2")
        for line in ("00000000.png", "00000000.png seven", "a b c")
    },
}


@pytest.mark.parametrize("case", OTHERS)
def test_files_that_hold_something_else_are_named(tmp_path, write, case):
    domain, name, content, mnist, message = OTHERS[case]
    path = tmp_path / "digits" / name
    if mnist:
        write.idx(tmp_path / "digits", test=12)
    if path.suffix == ".mat":
        path.parent.mkdir()
        savemat(path, content)
    elif path.suffix == ".pkl":
        write.pickle(path, content)
    else:
        write.png_list(tmp_path / "digits")
        path.write_text(content)
    with pytest.raises(DataError, match=f"{path.name}: .*{message}"):
        read(tmp_path, domain)


def test_all_listed_pngs_that_are_missing_or_broken_are_named(tmp_path, write):
    write.png_list(tmp_path / "digits")
    (tmp_path / "digits" / "mnist_m" / "mnist_m_test" / "00000004.png").unlink()
    (tmp_path / "digits" / "mnist_m" / "mnist_m_test" / "00000002.png").write_text("hello")
    with pytest.raises(DataError, match=r"00000004\.png: no such file") as raised:
        read(tmp_path, "mnist_m")
    assert "00000002.png: not an image" in str(raised.value)


def test_a_pickle_that_runs_code_is_not_run(tmp_path, write):
    write.idx(tmp_path / "digits")
    write.pickle(tmp_path / "digits" / SET_B, {"test": Harmful(tmp_path / "harm")})
    with pytest.raises(DataError, match=r"\w+\.mkdir is not an array"):
        read(tmp_path, "mnist_m_b")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("ending", ["mat", "pkl"])
def test_usps_at_28_pixels_with_other_values_is_named(tmp_path, write, ending):
    path = tmp_path / "digits" / f"usps_28x28.{ending}"
    write.usps_28(path, scale=1)
    with pytest.raises(DataError, match=r"28x28.*go from 0 to 255; expected two pairs"):
        read(tmp_path, "usps_28")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match=f"{path.name}: not a"):
        read(tmp_path, "usps_28")
