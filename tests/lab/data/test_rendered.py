"""Digits that are rendered or blended into photos, and the stand-ins made of them."""

import numpy as np
import pytest
from PIL import Image

from prorandconv import ProRandConvError
from prorandconv.lab.data import DataError, get_benchmark
from prorandconv.lab.data.rendered import EMBEDDED, Style, blend, embedded_typefaces, render
from prorandconv.lab.data.stand_ins import make_mnist_m, make_syn


def test_embedded_typefaces_draw_ten_different_digits():
    style = Style(neighbours=0, rotation=0, blur=0)
    for typeface in embedded_typefaces():
        images = [
            render([d], [typeface], style, np.random.default_rng(0))[0].tobytes() for d in range(10)
        ]
        assert len(set(images)) == 10, typeface.name
    assert len(EMBEDDED) == 20


def test_the_digit_stands_out_from_its_ground():
    style = Style(neighbours=0, rotation=0, blur=0, contrast=70)
    images = render([8] * 50, embedded_typefaces(), style, np.random.default_rng(0))
    grey = images.astype(int) @ np.array([299, 587, 114]) // 1000
    assert (grey.max((1, 2)) - grey.min((1, 2))).min() >= 60


def test_photos_become_the_ground():
    photo = np.zeros((100, 100, 3), np.uint8)
    photo[..., 2] = 250
    style = Style(neighbours=0, photos=[photo])
    images = render([1] * 20, embedded_typefaces(), style, np.random.default_rng(0))
    corner = images[:, :2, :2].reshape(20, -1, 3).mean(1)
    assert (corner[:, 2] > 230).all()
    assert (corner[:, :2] < 20).all()


def test_blending_is_the_absolute_difference_with_a_crop():
    photo = np.arange(40 * 40 * 3, dtype=np.uint64).reshape(40, 40, 3) % 251
    photo = photo.astype(np.uint8)
    digits = np.zeros((2, 8, 8), np.uint8)
    digits[1] = 100
    plain, inverted = blend(digits, [photo], np.random.default_rng(0))
    windows = np.lib.stride_tricks.sliding_window_view(photo, (8, 8, 3))[:, :, 0]
    crops = windows.reshape(-1, 8, 8, 3)
    assert (crops == plain).all((1, 2, 3)).any()
    assert (np.abs(crops.astype(int) - 100) == inverted).all((1, 2, 3)).any()


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
