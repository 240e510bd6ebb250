"""JiGen against its formulas, written with loops."""

import itertools

import pytest
import torch


def reference_tiles(x, orders):
    """Tile t of the result is tile orders[t] of the image; a remainder of pixels stays."""
    side = x.shape[-1] // 3
    result = x.clone()
    for image, order in enumerate(orders.tolist()):
        for place, taken in enumerate(order):
            top, left = place // 3 * side, place % 3 * side
            top2, left2 = taken // 3 * side, taken % 3 * side
            for row in range(side):
                for column in range(side):
                    value = x[image, :, top2 + row, left2 + column]
                    result[image, :, top + row, left + column] = value
    return result


@pytest.mark.parametrize("side", [9, 11, 32])
def test_tiles_are_permuted(side):
    module = pytest.importorskip("prorandconv.lab.methods.jigen")
    x = torch.rand(3, 3, side, side)
    orders = torch.stack([torch.randperm(9), torch.arange(9), torch.randperm(9)])
    found = module.shuffled(x, orders)
    assert torch.equal(found, reference_tiles(x, orders))
    assert torch.equal(found[1], x[1])


def test_permutations_are_distinct_and_far_apart():
    """Noroozi and Favaro choose them by their Hamming distance; nine tiles allow nine."""
    module = pytest.importorskip("prorandconv.lab.methods.jigen")
    orders = module.permutations(30)
    assert orders.shape == (30, 9)
    assert all(sorted(one) == list(range(9)) for one in orders.tolist())
    pairs = itertools.combinations([list(range(9)), *orders.tolist()], 2)
    assert min(sum(a != b for a, b in zip(*pair, strict=True)) for pair in pairs) >= 6
    assert torch.equal(orders, module.permutations(30))


def test_a_tile_is_grey_or_as_it_was():
    module = pytest.importorskip("prorandconv.lab.methods.jigen")
    x = torch.rand(2, 3, 11, 11)
    chosen = torch.zeros(2, 9, dtype=torch.bool)
    chosen[0, 4] = True
    found = module.greyed(x, chosen)
    expected = x.clone()
    tile = x[0, :, 3:6, 3:6]
    expected[0, :, 3:6, 3:6] = 0.299 * tile[0] + 0.587 * tile[1] + 0.114 * tile[2]
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)
