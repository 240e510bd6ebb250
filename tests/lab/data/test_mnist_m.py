"""MNIST-M's recipe."""

import numpy as np

from prorandconv.lab.data.rendered import blend


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
