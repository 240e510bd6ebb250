"""JiGen against its formulas, written with loops."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from prorandconv.lab.methods import jigen


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
    x = torch.rand(3, 3, side, side)
    orders = torch.stack([torch.randperm(9), torch.arange(9), torch.randperm(9)])
    found = jigen.shuffled(x, orders)
    assert torch.equal(found, reference_tiles(x, orders))
    assert torch.equal(found[1], x[1])


def test_permutations_are_distinct_and_far_apart():
    """Noroozi and Favaro choose them by their Hamming distance; nine tiles allow nine."""
    orders = jigen.permutations(30)
    assert orders.shape == (30, 9)
    assert all(sorted(one) == list(range(9)) for one in orders.tolist())
    pairs = itertools.combinations([list(range(9)), *orders.tolist()], 2)
    assert min(sum(a != b for a, b in zip(*pair, strict=True)) for pair in pairs) >= 6
    assert torch.equal(orders, jigen.permutations(30))


def test_a_tile_is_grey_or_as_it_was():
    x = torch.rand(2, 3, 11, 11)
    chosen = torch.zeros(2, 9, dtype=torch.bool)
    chosen[0, 4] = True
    found = jigen.greyed(x, chosen)
    expected = x.clone()
    tile = x[0, :, 3:6, 3:6]
    expected[0, :, 3:6, 3:6] = 0.299 * tile[0] + 0.587 * tile[1] + 0.114 * tile[2]
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)


def test_the_loss_is_its_formula(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 7), nn.ReLU(), nn.Linear(7, 5))
    learner = jigen.JiGen(p=0.0, grey=0.0, weight=0.7).learner(network, info)
    (losses,) = learner.step(batch, torch.Generator())
    features = network[:3](batch.images)
    task = torch.log_softmax(network[3](features), 1)
    which = torch.log_softmax(learner.head(features), 1)
    rows = enumerate(batch.labels.tolist())
    expected = -sum(task[i, y] + 0.7 * which[i, 0] for i, y in rows) / 6
    torch.testing.assert_close(losses["network"], expected)


def test_the_second_head_learns_which_permutation_it_was(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    learner = jigen.JiGen(p=1.0, grey=0.0, weight=1.0).learner(network, info)
    (losses,) = learner.step(batch, torch.Generator().manual_seed(3))
    which = torch.randint(1, 31, (6,), generator=torch.Generator().manual_seed(3))
    x = reference_tiles(batch.images, learner.orders[which]).flatten(1)
    expected = F.cross_entropy(network(x), batch.labels) + F.cross_entropy(learner.head(x), which)
    torch.testing.assert_close(losses["network"], expected)
