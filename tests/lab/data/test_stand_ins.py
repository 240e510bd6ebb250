"""Stand-ins for MNIST-M and SYN."""

import numpy as np
import pytest
from PIL import Image

from prorandconv import ProRandConvError
from prorandconv.lab.data import DataError, get_benchmark
from prorandconv.lab.data.stand_ins import make_mnist_m, make_syn


@pytest.fixture
def photos(tmp_path):
    """BSDS500's layout."""
    folder = tmp_path / "BSDS500" / "data" / "images"
    for part, colour in (("train", (10, 60, 110)), ("test", (200, 150, 100))):
        (folder / part).mkdir(parents=True)
        Image.new("RGB", (48, 32), colour).save(folder / part / "1.png")
    Image.new("RGB", (9, 9)).save(folder / "train" / "small.png")
    Image.new("L", (48, 32)).save(folder / "train" / "grey.png")
    return tmp_path / "BSDS500"


def test_it_is_built_from_mnist_and_a_folder_of_photos(tmp_path, write, photos):
    written = write.idx(tmp_path / "digits")
    path = make_mnist_m(tmp_path, photos)
    assert path == tmp_path / "digits" / "mnist_m_rebuilt.npz"
    benchmark = get_benchmark("digits", tmp_path)
    found = benchmark.domain("mnist_m_rebuilt").read("test")
    digits, labels = written["test"]
    np.testing.assert_array_equal(found.labels, labels)
    grounds = np.array([(10, 60, 110), (200, 150, 100)])
    possible = np.abs(grounds[:, None, None, None] - digits[None, ..., None].astype(int))
    same = (found.images == possible).all((2, 3, 4))
    assert same.any(0).all()
    assert "mnist_m_rebuilt" not in benchmark.domains


def test_the_same_seed_builds_the_same(tmp_path, write, photos):
    write.idx(tmp_path / "digits")
    contents = [make_mnist_m(tmp_path, photos, seed=s).read_bytes() for s in (0, 0, 1)]
    assert contents[0] == contents[1] != contents[2]


def test_without_mnist_it_says_so(tmp_path, photos):
    with pytest.raises(DataError, match="'mnist' is missing"):
        make_mnist_m(tmp_path, photos)


def test_a_folder_without_photos_is_named(tmp_path, write):
    write.idx(tmp_path / "digits")
    with pytest.raises(DataError, match="nowhere: no such folder"):
        make_mnist_m(tmp_path, tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no colour photo of 28 × 28 .* among 0 images"):
        make_mnist_m(tmp_path, tmp_path / "digits")


def test_the_stand_in_is_of_the_size_asked_for_and_never_called_syn(tmp_path):
    path = make_syn(tmp_path, train_images=24, test_images=30)
    assert path.name == "syn_rendered.npz"
    benchmark = get_benchmark("digits", tmp_path)
    assert benchmark.present() == ("syn_rendered",)
    assert "syn_rendered" in benchmark.extras
    assert benchmark.domain("syn_rendered").counts() == {
        "train": (3, 3, 3, 3, 2, 2, 2, 2, 2, 2),
        "test": (3,) * 10,
    }


def test_wrong_counts_are_named(tmp_path):
    with pytest.raises(ProRandConvError, match="test_images"):
        make_syn(tmp_path, test_images=0)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "digits").write_text("a file")
    with pytest.raises(DataError, match=r"syn_rendered\.npz: cannot be written \("):
        make_syn(tmp_path, train_images=0, test_images=1)
