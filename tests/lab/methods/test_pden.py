"""PDEN against its formulas, written with loops."""

import pytest
import torch


def reference_separation(a, b, temperature):
    """The generator's contrast: mean over all anchors of -log(1 - p), p being the share of the
    anchor's other view in the softmax over all other points."""
    points = [row / torch.sqrt((row**2).sum()) for row in [*a, *b]]
    total, count = 0.0, len(a)
    for anchor in range(2 * count):
        scores = {
            other: torch.exp((points[anchor] * points[other]).sum() / temperature)
            for other in range(2 * count)
            if other != anchor
        }
        p = scores[(anchor + count) % (2 * count)] / sum(scores.values())
        total = total - torch.log(1 - p)
    return total / (2 * count)


def reference_diversity(a, b, limit):
    """Mean over images of min(mean |a - b|, limit)."""
    total = 0.0
    for one, other in zip(a, b, strict=True):
        values = [abs(p - q) for p, q in zip(one.reshape(-1), other.reshape(-1), strict=True)]
        mean = sum(values) / len(values)
        total = total + (mean if mean < limit else torch.tensor(limit).double())
    return total / len(a)


def reference_adain(x, gamma, beta):
    """(1 + γ)(x - μ)/σ + β, with the biased variance of each image and channel."""
    result = []
    for image in range(len(x)):
        for channel in range(x.shape[1]):
            values = x[image, channel].reshape(-1)
            mean = sum(values) / len(values)
            variance = sum((value - mean) ** 2 for value in values) / len(values)
            plain = (x[image, channel] - mean) / torch.sqrt(variance + 1e-5)
            result.append((1 + gamma[image, channel]) * plain + beta[image, channel])
    return torch.stack(result).view(x.shape)


def reference_generator_loss(task, diversity, cycle, separation):
    """Weights of the authors' script: 1, 2, 20 and 0.1."""
    return task - 2 * diversity + 20 * cycle + 0.1 * separation


def test_the_generator_drives_views_apart(agree):
    module = pytest.importorskip("prorandconv.lab.methods.pden")
    agree(
        lambda a, b: module.separation(a, b, 0.5),
        lambda a, b: reference_separation(a, b, 0.5),
        torch.randn(4, 6),
        torch.randn(4, 6),
    )


def test_views_that_are_equal_have_a_finite_separation():
    module = pytest.importorskip("prorandconv.lab.methods.pden")
    a = torch.eye(4).requires_grad_()
    found = module.separation(a, a.detach().clone(), 0.01)
    (gradient,) = torch.autograd.grad(found, a)
    assert torch.isfinite(found)
    assert torch.isfinite(gradient).all()


def test_diversity_counts_up_to_a_limit(agree):
    module = pytest.importorskip("prorandconv.lab.methods.pden")
    agree(
        lambda a, b: module.diversity(a, b, 0.5),
        lambda a, b: reference_diversity(a, b, 0.5),
        torch.rand(4, 3, 4, 4) * torch.tensor([1.0, 1, 1, 4]).view(4, 1, 1, 1),
        torch.rand(4, 3, 4, 4),
    )


def test_noise_sets_scale_and_shift_of_the_generators_features(agree):
    module = pytest.importorskip("prorandconv.lab.methods.pden")
    agree(module.adain, reference_adain, torch.randn(2, 3, 4, 4), *torch.randn(2, 2, 3))


def test_the_generators_loss_has_the_authors_signs_and_weights(agree):
    module = pytest.importorskip("prorandconv.lab.methods.pden")
    method = module.PDEN()
    agree(method.generator_loss, reference_generator_loss, *torch.rand(4))
