"""Stress tests of classifiers: figures by hand, and nothing that is left behind."""

import json
import math

import pytest
import torch
from torch import nn

import prorandconv as prc
from prorandconv import ProRandConvError
from prorandconv.stress.cases import ORIGINAL, Case, cases

SETTINGS = {"mean": 0.5, "std": 0.5, "draws": 2}


def is_bright(x):
    """Class 1 for images that are brighter than middle grey."""
    bright = x.mean((1, 2, 3))
    return torch.stack((-bright, bright), 1)


def plain(*values):
    """Images of one grey value each, for pixels from 0 to 1."""
    grey = torch.tensor(values).view(-1, 1, 1, 1) * 2 - 1
    return grey.expand(-1, 3, 8, 8)


def linear(classes=4):
    return nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(3 * 8 * 8, classes))


def noisy_images(count=6):
    return torch.rand(count, 3, 8, 8) * 2 - 1, torch.arange(count) % 4


def test_figures_of_a_network_that_tells_bright_from_dark():
    loader = [(plain(0.1, 0.9), torch.tensor([0, 1])), (plain(0.6, 0.4), torch.tensor([1, 1]))]
    found = prc.stress(is_bright, loader, **SETTINGS)
    assert found.labels.tolist() == [0, 1, 1, 1]
    assert found.predicted[ORIGINAL].tolist() == [0, 1, 1, 0]
    assert found.accuracy(ORIGINAL) == found.repeats[0] == found.averages["original"] == 75
    # One inverted channel of three leaves the order, two turn it round.
    assert found.shifts["invert"] == (75, 25, 25)
    # The second and fourth image get darker, the others brighter, by 1/8, 1/4 and 1/2.
    assert found.shifts["brightness"] == (75, 75, 25)
    assert found.shifts["blur"] == (75, 75, 75)


def test_a_network_that_always_says_the_same_is_right_by_chance_everywhere():
    x, y = noisy_images(8)
    found = prc.stress(lambda x: torch.eye(4)[2].expand(len(x), 4), [(x, y)], **SETTINGS)
    assert {found.accuracy(case) for case in cases(2)} == {25.0}
    assert found.averages == {"original": 25.0, "repeats": 25.0, "shifts": 25.0}


def test_figures_are_means_over_draws():
    x, y = noisy_images()
    found = prc.stress(linear(), [(x, y)], **SETTINGS)
    one, other = (found.accuracy(Case("repeats", "3", draw)) for draw in range(2))
    assert found.repeats[3] == pytest.approx((one + other) / 2)
    assert list(found.repeats) == list(range(11))
    assert found.averages["repeats"] == pytest.approx(
        math.fsum(found.repeats[c] for c in range(1, 11)) / 10
    )


def test_the_same_twice_whatever_the_size_of_batches_and_the_global_seed():
    x, y = noisy_images()
    network = linear()
    once = prc.stress(network, [(x, y)], **SETTINGS)
    torch.manual_seed(7)
    again = prc.stress(network, zip(x.split(2), y.split(2), strict=True), **SETTINGS)
    assert all(torch.equal(once.predicted[case], again.predicted[case]) for case in cases(2))


def test_nothing_is_drawn_from_the_global_generator():
    network, batch = linear(), noisy_images()
    before = torch.get_rng_state()
    prc.stress(network, [batch], **SETTINGS)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("fails", [False, True])
def test_every_module_gets_its_mode_back(fails):
    seen = []
    network = linear(1 if fails else 4).train()
    network[2].eval()
    network.register_forward_hook(lambda module, *_: seen.append(module.training))
    if fails:
        with pytest.raises(ProRandConvError):
            prc.stress(network, [noisy_images()], **SETTINGS)
    else:
        prc.stress(network, [noisy_images()], **SETTINGS)
    assert set(seen) == {False}
    assert [module.training for module in network.modules()] == [True, True, True, False]


def test_progress_counts_every_image_in_every_case():
    steps = []
    prc.stress(linear(), [noisy_images()] * 2, **SETTINGS, progress=steps.append)
    assert sum(steps) == 2 * 6 * len(cases(2))


def test_grey_images_with_their_own_normalisation():
    x = (torch.rand(4, 1, 8, 8) - 0.13) / 0.31
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    found = prc.stress(network, [(x, torch.zeros(4).long())], mean=(0.13,), std=(0.31,), draws=1)
    assert torch.equal(found.predicted[ORIGINAL], network(x).argmax(1))


def test_a_program_of_torch_export_is_a_network_too():
    x, y = noisy_images()
    network = linear().eval()
    program = torch.export.export(network, (x,)).module()
    found = prc.stress(program, [(x, y)], **SETTINGS)
    expected = prc.stress(network, [(x, y)], **SETTINGS)
    assert found.to_mapping() == expected.to_mapping()


def test_tables_fit_a_terminal_and_plain_values_fit_json():
    found = prc.stress(linear(), [noisy_images()], **SETTINGS)
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert f"original{found.repeats[0]:>32.1f}" in text
    stored = json.loads(json.dumps(found.to_mapping()))
    assert stored["repeats"]["10"] == found.repeats[10]
    assert stored["shifts"]["blur"]["accuracy"] == list(found.shifts["blur"])
    assert (stored["images"], stored["draws"], stored["seed"]) == (6, 2, 0)


X, Y = torch.zeros(2, 3, 8, 8), torch.tensor([0, 1])


@pytest.mark.parametrize(
    ("network", "loader", "changes", "message"),
    [
        (is_bright, [], {}, "loader: got 'no images'"),
        (is_bright, [X], {}, r"expected batches \(images, labels\)"),
        (is_bright, [(X[0], Y)], {}, r"loader: got \(3, 8, 8\), expected images \(N, 1 or 3"),
        (is_bright, [(X[:, :2], Y)], {}, r"loader: got \(2, 2, 8, 8\)"),
        (is_bright, [(X.byte(), Y)], {}, r"x: got torch.uint8"),
        (is_bright, [(X, Y.float())], {}, r"integer labels \(2,\)"),
        (is_bright, [(X, Y[:1])], {}, r"integer labels \(2,\)"),
        (is_bright, [(X, Y + 1)], {}, "labels from 1 to 2', expected from 0 to 1: the network has"),
        (lambda x: (x,), [(X, Y)], {}, "network: got 'an output tuple', expected logits"),
        (lambda x: x.mean((2, 3)) / 0, [(X, Y)], {}, "network: got 'logits that are NaN'"),
        (lambda x: x, [(X, Y)], {}, r"network: got 'an output \(2, 3, 8, 8\)'"),
        (is_bright, [(X, Y)], {"draws": 0}, "draws: got 0"),
        (is_bright, [(X, Y)], {"seed": 0.5}, "seed: got 0.5"),
        (is_bright, [(X, Y)], {"std": 0}, "std: got 0"),
        (is_bright, [(X, Y)], {"mean": (0.5, 0.5)}, r"mean: got \(0.5, 0.5\)"),
        (is_bright, [(X - 3, Y)], {}, "mean, std: got"),
    ],
)
def test_bad_input_raises_an_error(network, loader, changes, message):
    with pytest.raises(ProRandConvError, match=message):
        prc.stress(network, loader, **(SETTINGS | changes))


def test_a_network_that_works_in_place_leaves_the_loaders_images_alone():
    x, y = noisy_images()
    before = x.clone()
    network = linear()
    prc.stress(lambda images: network(images.mul_(0.5)), [(x, y)], **SETTINGS)
    assert torch.equal(x, before)


@pytest.mark.parametrize("size", [(4, 80), (80, 4)])
def test_lines_of_text_are_images_too(size):
    x = torch.rand(2, 1, *size) * 2 - 1
    found = prc.stress(lambda x: x.mean((2, 3)).repeat(1, 2), [(x, Y)], **SETTINGS)
    assert found.predicted[ORIGINAL].shape == (2,)


def test_autocast_and_double_precision_change_no_image():
    x, y = torch.randint(0, 256, (4, 3, 8, 8)) / 127.5 - 1, torch.zeros(4, dtype=torch.int64)
    seen = {}

    def network(images):
        seen.setdefault(name, []).append(images.double())
        return linear()(images.float())

    for name in ("single", "double", "autocast"):
        images = x.double() if name == "double" else x
        with torch.autocast("cpu", enabled=name == "autocast"):
            prc.stress(network, [(images, y)], **SETTINGS)
    for own in ("double", "autocast"):
        for one, other in zip(seen["single"], seen[own], strict=True):
            torch.testing.assert_close(one, other, atol=1e-3, rtol=0)
