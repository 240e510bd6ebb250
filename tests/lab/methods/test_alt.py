"""ALT against its formulas, written with loops."""

import itertools
import math

import pytest
import torch

from prorandconv.lab.methods import alt

LABELS = torch.tensor([2, 0, 1])


def reference_variation(x):
    """Twice the mean squared step between neighbours, down and across."""
    down, across = [], []
    for image in x:
        for channel in image:
            height, width = channel.shape
            for i in range(height):
                for j in range(width):
                    if i + 1 < height:
                        down.append((channel[i + 1, j] - channel[i, j]) ** 2)
                    if j + 1 < width:
                        across.append((channel[i, j + 1] - channel[i, j]) ** 2)
    return 2 * (sum(down) / len(down) + sum(across) / len(across))


def _convolved(image, weight, bias):
    channels, height, width = image.shape
    new = []
    for kernel, shift in zip(weight, bias, strict=True):
        rows = []
        for i in range(height):
            row = []
            for j in range(width):
                value = shift
                for c in range(channels):
                    for di in range(3):
                        for dj in range(3):
                            y, x = i + di - 1, j + dj - 1
                            if 0 <= y < height and 0 <= x < width:
                                value = value + kernel[c, di, dj] * image[c, y, x]
                row.append(value)
            rows.append(torch.stack(row))
        new.append(torch.stack(rows))
    return torch.stack(new)


def reference_transform(x, weights, low, high):
    """Convolutions with leaky ReLUs of slope .2 between them, limited to the range of images."""
    images = []
    for image in x:
        for layer, (weight, bias) in enumerate(weights):
            image = _convolved(image, weight, bias)
            if layer < len(weights) - 1:
                image = torch.where(image > 0, image, 0.2 * image)
        images.append(torch.where(image < low, low, torch.where(image > high, high, image)))
    return torch.stack(images)


def _cross_entropy(logits, labels):
    rows = zip(logits, labels, strict=True)
    losses = [-torch.log(torch.exp(row[label]) / torch.exp(row).sum()) for row, label in rows]
    return sum(losses) / len(losses)


def reference_ascent(x, labels, network, weights, low, high, steps, rate):
    """Adam, which raises the cross-entropy and lowers the variation."""
    flat = [one.detach().clone().requires_grad_() for pair in weights for one in pair]
    first, second = ([torch.zeros_like(one) for one in flat] for _ in range(2))
    for step in range(1, steps + 1):
        moved = reference_transform(x, list(zip(flat[::2], flat[1::2], strict=True)), low, high)
        objective = _cross_entropy(network(moved), labels) - reference_variation(moved)
        gradients = torch.autograd.grad(objective, flat)
        for place, gradient in enumerate(gradients):
            first[place] = 0.9 * first[place] + 0.1 * gradient
            second[place] = 0.999 * second[place] + 0.001 * gradient**2
            mean = first[place] / (1 - 0.9**step)
            square = second[place] / (1 - 0.999**step)
            flat[place] = (flat[place] + rate * mean / (square.sqrt() + 1e-8)).detach()
            flat[place].requires_grad_()
    return flat


def reference_loss(clean, transformed, mixed, labels, weight):
    """(1 - w) times cross-entropy of the originals, w times Jensen-Shannon of three views."""
    total = 0.0
    for rows in zip(clean, transformed, mixed, strict=True):
        chances = [torch.exp(row) / torch.exp(row).sum() for row in rows]
        for k in range(len(rows[0])):
            mean = sum(chance[k] for chance in chances) / 3
            total = total + sum(c[k] * torch.log(c[k] / mean) for c in chances) / 3
    return (1 - weight) * _cross_entropy(clean, labels) + weight * total / len(labels)


def _weights(*channels):
    pairs = itertools.pairwise(channels)
    return [(torch.randn(o, i, 3, 3).double() / 3, torch.randn(o).double()) for i, o in pairs]


def test_the_variation_is_its_formula(agree):
    agree(alt.variation, reference_variation, torch.randn(2, 3, 4, 5))


def test_the_transform_is_a_stack_of_convolutions(agree):
    weights, low, high = _weights(3, 4, 4, 3), torch.tensor(-1.5), torch.tensor(2.0)
    flat = [one for pair in weights for one in pair]

    def paired(given):
        return list(zip(given[::2], given[1::2], strict=True))

    agree(
        lambda x, *given: alt.transformed(x, paired(given), low, high),
        lambda x, *given: reference_transform(x, paired(given), low, high),
        torch.randn(2, 3, 4, 3),
        *flat,
    )


def test_the_ascent_is_adam_on_cross_entropy_without_variation():
    weights, low, high = _weights(3, 4, 3), torch.tensor(-1.5), torch.tensor(2.0)
    x = torch.randn(3, 3, 3, 4).double()
    matrix = torch.randn(36, 3).double()

    def network(images):
        return images.flatten(1) @ matrix

    expected = reference_ascent(x, LABELS, network, weights, low, high, steps=3, rate=0.01)
    found = alt.ascended(x, LABELS, network, weights, low, high, steps=3, rate=0.01)
    for one, other in zip([v for pair in found for v in pair], expected, strict=True):
        torch.testing.assert_close(one, other)
    before = [one for pair in weights for one in pair]
    assert not torch.allclose(expected[0], before[0], atol=1e-3)  # it has moved


def test_the_loss_is_its_formula(agree):
    agree(
        lambda *logits: alt.alt_loss(logits, LABELS, 0.75),
        lambda *logits: reference_loss(*logits, LABELS, 0.75),
        *torch.randn(3, 3, 4),
    )


def test_weights_are_kaimings():
    weights = alt.fresh_weights(torch.Generator().manual_seed(0), hidden=256)
    assert [tuple(weight.shape[:2]) for weight, _ in weights] == [
        (256, 3),
        (256, 256),
        (256, 256),
        (256, 256),
        (3, 256),
    ]
    for weight, bias in weights[1:-1]:
        fan = 256 * 9
        assert weight.std().item() == pytest.approx(math.sqrt(2 / fan), rel=0.02)
        assert bias.abs().max().item() <= 1 / math.sqrt(fan)
        assert bias.std().item() == pytest.approx(1 / math.sqrt(3 * fan), rel=0.1)


def _learner(**options):
    from prorandconv.lab.data.benchmarks.digits import FORMAT
    from prorandconv.lab.methods.learner import RunInfo

    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 4))
    info = RunInfo(FORMAT, 4, 1, 16, 2, None, lambda tensor: tensor)
    return alt.ALT(**options).learner(network, info)


def _batch():
    from prorandconv.lab.data.samples import Batch

    x = torch.rand(6, 3, 8, 8) * 2 - 1
    return Batch(x, torch.arange(6) % 4, torch.zeros(6, dtype=torch.long))


def test_views_begin_after_a_share_of_the_run():
    learner, batch, losses = _learner(), _batch(), []
    for epoch in (0, 1, 2, 15):
        learner.begin_epoch(epoch, None, torch.Generator(), lambda: None)
        (losses_of_round,) = learner.step(batch, torch.Generator().manual_seed(0))
        losses.append(losses_of_round["network"].item())
    plain = torch.nn.functional.cross_entropy(learner.network(batch.images), batch.labels).item()
    assert losses[:2] == pytest.approx([plain, plain])
    assert losses[2] == losses[3] != pytest.approx(plain)


def test_views_are_images_that_differ_and_the_network_stays_learnable():
    learner, batch = _learner(step_size=0.1), _batch()
    learner.train()
    generator = torch.Generator().manual_seed(0)
    changed, mixed = learner.views(batch.images, batch.labels, generator)
    for view in (changed, mixed):
        assert view.shape == batch.images.shape
        assert view.abs().max() <= 1
        assert (view - batch.images).abs().mean() > 0.05
    assert learner.network.training
    assert all(one.requires_grad for one in learner.network.parameters())
    again = learner.views(batch.images, batch.labels, torch.Generator().manual_seed(0))
    assert torch.equal(changed, again[0])
    assert torch.equal(mixed, again[1])
