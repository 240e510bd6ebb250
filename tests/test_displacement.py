"""Where a draw takes each pixel from."""

from dataclasses import replace

import pytest
import torch

from prorandconv import Draw, Options, ProRandConv, ProRandConvError, RandConv
from prorandconv.functional import apply, displacement

SIZE = (12, 16)


def one_tap(dy, dx, repeats=1, **parts):
    """A draw whose only tap, up to a pixel off the centre, moves the picture."""
    weight = torch.zeros(3, 3, 3, 3)
    weight[:, :, 1 + dy, 1 + dx] = torch.randn(3, 3)
    return Draw(weight=weight, repeats=repeats, size=SIZE, **parts)


def coordinates(size):
    """A picture (2, H, W) that shows in each pixel its own row and column."""
    rows, columns = (torch.arange(side, dtype=torch.float64) for side in size)
    return torch.stack(torch.meshgrid(rows, columns, indexing="ij"))


def apart(weight):
    """Kernels of positive weights that keep two channels apart, and each channel's mean."""
    share = weight.abs().sum((-4, -3))
    share = share / share.sum((-2, -1), keepdim=True)
    return share[..., None, None, :, :] * torch.eye(2, dtype=weight.dtype)[:, :, None, None]


def test_a_kernel_that_is_all_centre_moves_nothing():
    assert torch.equal(displacement(one_tap(0, 0, repeats=4)), torch.zeros(2, *SIZE))


@pytest.mark.parametrize("shift", [(0, 1), (-1, 0), (1, -1)])
def test_an_off_centre_tap_moves_the_picture_by_one_pixel_a_repetition(shift):
    found = displacement(one_tap(*shift, repeats=3))[:, 3:-3, 3:-3]
    expected = 3 * torch.tensor(shift, dtype=torch.float32)[:, None, None]
    assert torch.allclose(found, expected.expand_as(found), atol=1e-5)


def test_taps_count_by_their_magnitude_over_channels():
    draw = one_tap(0, 0)
    draw.weight.zero_()
    draw.weight[0, 1, 1, 2], draw.weight[2, 0, 1, 2] = -2.0, 1.0
    draw.weight[1, 1, 1, 1] = 1.0
    expected = torch.tensor([0.0, 0.75])[:, None, None].expand(2, *SIZE)
    assert torch.allclose(displacement(draw), expected, atol=1e-6)


@pytest.mark.parametrize("weights", ["same", "different"])
@pytest.mark.parametrize("repeats", [1, 2, 5, 10])
@pytest.mark.parametrize("kernel_size", [1, 3])
def test_it_is_what_becomes_of_a_picture_of_coordinates(kernel_size, repeats, weights):
    x = coordinates((60, 72))
    augment = ProRandConv(kernel_size, repeats=repeats, weights=weights, offsets=(0.5, 0.5))
    draw = augment.draw(x, torch.Generator().manual_seed(repeats))
    draw = replace(draw, weight=apart(draw.weight))
    draw = replace(draw, options=Options(contrast=(), padding="replicate"))
    picture = apply(x, draw)
    found = displacement(draw, padding="replicate")
    inside = (..., slice(10, -10), slice(10, -10))
    moved = (picture - x)[inside]
    assert moved.abs().max() > 0.3 * repeats**0.5, "there is something to see"
    # The picture is blurred by every repetition, and with several taps the mean over where they
    # lead is not where their mean leads.
    share = {1: 0.01, 3: 0.05}[kernel_size] if repeats > 1 else 1e-6
    assert (found[inside] - moved).norm() < share * moved.norm()


def test_repetitions_are_composed_instead_of_added():
    x = coordinates((40, 56))
    draw = ProRandConv(repeats=10, shared_offsets=True, offsets=(0.5, 0.5)).draw(x)
    once = displacement(replace(draw, repeats=1))
    assert (displacement(draw) - 10 * once)[:, 10:-10, 10:-10].abs().max() > 0.5


@pytest.mark.parametrize("weights", ["same", "different"])
def test_each_image_has_the_displacement_of_its_own_draw(weights):
    x = torch.randn(5, 3, *SIZE)
    draw = ProRandConv(mode="sample", weights=weights, max_repeats=5).draw(x)
    draw = replace(draw, repeats=(3, 0, 5, 1, 2))
    alone = torch.stack([displacement(one) for one in draw])
    assert torch.allclose(displacement(draw), alone, atol=1e-5)
    assert alone[1].abs().max() == 0
    assert alone[2].abs().max() > 0.01


def test_no_images_have_no_displacement():
    draw = ProRandConv(mode="sample").draw(torch.randn(0, 3, *SIZE))
    assert displacement(draw).shape == (0, 2, *SIZE)


def test_images_that_are_not_selected_stay_where_they_are():
    draw = ProRandConv(mode="sample").draw(torch.randn(4, 3, *SIZE))
    some = replace(draw, selected=torch.tensor([0, 2]))
    assert torch.equal(displacement(some)[[0, 2]], displacement(draw)[[0, 2]])
    assert displacement(some)[[1, 3]].abs().max() == 0


def test_under_zeros_what_once_was_outside_stays_outside():
    # The first repetition, applied last, looks a pixel to the left, the second back to the right.
    weight = torch.zeros(2, 1, 1, 3, 3)
    weight[0, 0, 0, 1, 2] = weight[1, 0, 0, 1, 0] = 1.0
    draw = Draw(weight=weight, repeats=2, size=SIZE)
    rows = displacement(draw, padding="zeros")[1]
    assert torch.allclose(rows[:, 1:], torch.zeros(SIZE[0], SIZE[1] - 1), atol=1e-5)
    assert torch.allclose(rows[:, 0], torch.tensor(-1.0), atol=1e-5), "left by the border"


@pytest.mark.parametrize(("padding", "expected"), [("reflect", 1.0), ("replicate", 0.0)])
def test_other_paddings_take_what_is_outside_from_inside(padding, expected):
    draw = one_tap(0, -1)
    assert torch.allclose(displacement(draw, padding=padding)[1, :, 0], torch.tensor(expected))
    by_default = replace(draw, options=Options(padding=padding))
    assert torch.equal(displacement(by_default), displacement(draw, padding=padding))


def test_a_mixed_image_moves_by_the_share_that_moves():
    x = torch.randn(3, *SIZE)
    draw = RandConv(mix=True, identity=0.0, kernel_sizes=(3,)).draw(x)
    alone = displacement(replace(draw, mix=None))
    assert torch.allclose(displacement(draw), (1 - draw.mix) * alone, atol=1e-6)


def test_a_kernel_of_zeros_has_no_say():
    draw = replace(one_tap(0, 1), weight=torch.zeros(3, 3, 3, 3))
    assert torch.equal(displacement(draw), torch.zeros(2, *SIZE))


def test_a_draw_without_offsets_fits_every_size():
    assert displacement(one_tap(0, 1), (5, 7)).shape == (2, 5, 7)


def test_what_does_not_fit_raises_an_error_with_its_name():
    draw = ProRandConv().draw(torch.randn(3, *SIZE))
    with pytest.raises(ProRandConvError, match=r"^size: got \(8, 8\), expected \(12, 16\)"):
        displacement(draw, (8, 8))
    with pytest.raises(ProRandConvError, match=r"^padding: got 'wrap'"):
        displacement(draw, padding="wrap")


def test_autocast_changes_nothing():
    draw = ProRandConv(repeats=4).draw(torch.randn(3, *SIZE))
    expected = displacement(draw)
    with torch.autocast("cpu"):
        assert torch.equal(displacement(draw), expected)
