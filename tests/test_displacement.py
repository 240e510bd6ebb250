"""Where a draw takes each pixel from."""

import pytest
import torch

from prorandconv import ProRandConvParams
from prorandconv.functional import displacement

SIZE = (12, 16)


def shifting(dy, dx, repeats=1, offsets=None, **options):
    """A draw whose one tap, up to a pixel off the centre, moves the picture."""
    weight = torch.zeros(3, 3, 3, 3)
    weight[:, :, 1 + dy, 1 + dx] = torch.randn(3, 3)
    return ProRandConvParams(weight, offsets, None, None, repeats, size=SIZE, **options)


def inner(field, border=3):
    return field[..., border:-border, border:-border]


def test_a_kernel_that_is_all_centre_moves_nothing():
    assert torch.equal(displacement(shifting(0, 0, repeats=4)), torch.zeros(2, *SIZE))


@pytest.mark.parametrize("shift", [(0, 1), (-1, 0), (1, -1)])
def test_an_off_centre_tap_moves_the_picture_by_one_pixel_a_repetition(shift):
    found = inner(displacement(shifting(*shift, repeats=3)))
    expected = 3 * torch.tensor(shift, dtype=torch.float32)[:, None, None]
    assert torch.allclose(found, expected.expand_as(found), atol=1e-5)


def test_taps_count_by_their_magnitude_over_channels():
    params = shifting(0, 0)
    params.weight.zero_()
    params.weight[0, 1, 1, 2], params.weight[2, 0, 1, 2] = -2.0, 1.0
    params.weight[1, 1, 1, 1] = 1.0
    expected = torch.tensor([0.0, 0.75])[:, None, None].expand(2, *SIZE)
    assert torch.allclose(displacement(params), expected)
