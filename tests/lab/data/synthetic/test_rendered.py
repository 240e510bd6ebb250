"""Rendered digits, and the stand-in for SYN made of them."""

import numpy as np
import pytest

from prorandconv import ProRandConvError
from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.synthetic.rendered import (
    EMBEDDED,
    Style,
    embedded_typefaces,
    make_syn,
    render,
)


def test_embedded_typefaces_draw_ten_different_digits():
    style = Style(neighbours=0, turn=0, blur=0)
    for typeface in embedded_typefaces():
        images = [
            render([d], [typeface], style, np.random.default_rng(0))[0].tobytes() for d in range(10)
        ]
        assert len(set(images)) == 10, typeface.name
    assert len(EMBEDDED) == 20


def test_the_digit_stands_out_from_its_ground():
    style = Style(neighbours=0, turn=0, blur=0, contrast=70)
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
