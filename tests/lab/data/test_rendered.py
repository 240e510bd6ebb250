"""Rendered digits."""

import numpy as np

from prorandconv.lab.data.rendered import EMBEDDED, Style, embedded_typefaces, render


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
