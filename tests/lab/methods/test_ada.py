"""ADA and ME-ADA against their formulas, written with loops."""

import pytest
import torch
from torch import nn

from prorandconv.lab.data.samples import Batch
from prorandconv.lab.methods import ada, ascent


def reference_objective(logits, features, originals, labels, gamma, eta):
    """For each image CE(z, y) - γ mean (f(z) - f(x))² + η H(softmax(z))."""
    values = []
    for image in range(len(logits)):
        row = logits[image]
        shares = [torch.exp(one) / sum(torch.exp(other) for other in row) for one in row]
        task = -torch.log(shares[int(labels[image])])
        entropy = -sum(share * torch.log(share) for share in shares)
        pairs = list(zip(features[image], originals[image], strict=True))
        distance = sum((new - old) ** 2 for new, old in pairs) / len(pairs)
        values.append(task - gamma * distance + eta * entropy)
    return torch.stack(values)


def reference_ascent(weights, x, labels, gamma, eta, steps, rate):
    """Plain gradient ascent of each image on its own, for a linear network; clamped at the end.

    Features are x W₁, and logits are features W₂.
    """
    done = []
    for image, label in zip(x, labels, strict=True):
        z = image.clone()
        for _ in range(steps):
            z = z.detach().requires_grad_()
            features, originals = z @ weights[0], image @ weights[0]
            logits = features @ weights[1]
            one = (features[None], originals[None], label[None], gamma, eta)
            (gradient,) = torch.autograd.grad(reference_objective(logits[None], *one).sum(), z)
            z = z + rate * gradient
        done.append(z.detach().clamp(0, 1))
    return torch.stack(done)


@pytest.mark.parametrize(("gamma", "eta"), [(1.0, 0.0), (1.0, 10.0), (10.0, 0.0)])
def test_the_objective_is_its_formula(agree, gamma, eta):
    labels = torch.tensor([0, 3, 1])
    agree(
        lambda *given: ada.objective(*given, labels, gamma, eta),
        lambda *given: reference_objective(*given, labels, gamma, eta),
        torch.randn(3, 4),
        torch.randn(3, 5),
        torch.randn(3, 5),
    )


def test_the_ascent_moves_each_image_as_if_it_were_alone():
    weights = [torch.randn(6, 5).double(), torch.randn(5, 4).double()]
    x, labels = torch.rand(3, 6).double(), torch.tensor([0, 3, 1])
    originals = x @ weights[0]

    def objective(z):
        features = z @ weights[0]
        return ada.objective(features @ weights[1], features, originals, labels, 1.0, 10.0)

    found = ascent.ascend(objective, x, steps=7, rate=1 / 32)
    expected = reference_ascent(weights, x, labels, 1.0, 10.0, 7, 1 / 32)
    torch.testing.assert_close(found, expected)
    assert (found - x).abs().max() > 0.01


def test_images_move_in_pixels_by_a_share_of_a_mean_over_32(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 7), nn.ReLU(), nn.Linear(7, 5))
    method = ada.MEADA(ascent_steps=2, step_size=3.0, gamma=0.5, eta=2.0)
    learner = method.learner(network, info)
    pixels = 0.3 + 0.4 * torch.rand(6, 3, 16, 16)
    found = learner.maker(None, None, None)(pixels, batch.labels)
    z, originals = pixels, network[:3]((pixels - 0.5) / 0.25).detach()
    for _ in range(2):
        z = z.detach().requires_grad_()
        features = network[:3]((z - 0.5) / 0.25)
        parts = network[3](features), features, originals, batch.labels
        (gradient,) = torch.autograd.grad(reference_objective(*parts, 0.5, 2.0).sum(), z)
        z = z + 3 / 32 * gradient
    torch.testing.assert_close(found, z.clamp(0, 1).detach())


def test_images_of_each_growth_are_remembered_and_drawn_by_their_share(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    learner = ada.ADA(growths=2, ascent_steps=1).learner(network, info)
    source = Source(batch)
    seen = []
    for epoch in range(4):
        generator = torch.Generator().manual_seed(epoch)
        learner.begin_epoch(epoch, source, generator, lambda: None)
        learner.begin_epoch(epoch, source, generator, lambda: None)  # resumed within the epoch
        seen.append((len(learner.images), learner.labels.tolist()))
    y = batch.labels.tolist()
    assert seen == [(0, []), (6, y), (12, y + y), (12, y + y)]
    many = Batch(*(one.repeat(500, *[1] * (one.dim() - 1)) for one in batch))
    x, labels = learner.joined(many, torch.Generator().manual_seed(0))
    own = (x == many.images).flatten(1).all(1)
    assert 0.28 < own.float().mean() < 0.39  # a third of all is of the source
    assert torch.equal(labels[own], many.labels[own])
    kept = (x[~own][:1] * 0.25 + 0.5).mul(255).round().byte()
    (place,) = (learner.images == kept).flatten(1).all(1).nonzero()[:1, 0].tolist()
    assert labels[~own][0] == learner.labels[place]


def test_the_network_is_as_it_was_after_an_ascent(info, batch):
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(784, 5))
    network[0].bias.requires_grad_(False)
    learner = ada.ADA(ascent_steps=2).learner(network, info).train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    learner.begin_epoch(1, Source(batch), torch.Generator(), lambda: None)
    assert len(learner.images) == 6
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(one.training for one in network.modules())
    assert [one.requires_grad for one in network.parameters()] == [True, False, *[True] * 4]
    assert all(one.grad is None for one in network.parameters())


def test_a_stop_in_an_ascent_leaves_no_half(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    learner = ada.ADA(ascent_steps=1).learner(network, info).train()

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.begin_epoch(1, Source(batch), torch.Generator(), stop)
    assert (len(learner.images), int(learner.grown), network.training) == (0, 0, True)
    assert network[1].weight.requires_grad
    learner.begin_epoch(1, Source(batch), torch.Generator(), lambda: None)
    assert (len(learner.images), int(learner.grown)) == (6, 1)


class Source:
    """Training images of one mini-batch."""

    def __init__(self, batch):
        self.batch = batch

    def batches(self, count, device, shard):
        assert shard == (0, 1)
        return [self.batch[:2]]
