"""SagNet against its formulas, written with loops."""

import pytest
import torch

EPS = 1e-5


def _moments(channel):
    values = [value for row in channel for value in row]
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def reference_style(x, share, order):
    """The image's content; mean and variance are α its own and 1 - α another image's."""
    images = []
    for image in range(len(x)):
        channels = []
        for own, other in zip(x[image], x[order[image]], strict=True):
            (mean, variance), (mean2, variance2) = _moments(own), _moments(other)
            a = share[image]
            new_mean = a * mean + (1 - a) * mean2
            new_variance = a * variance + (1 - a) * variance2
            plain = (own - mean) / torch.sqrt(variance + EPS)
            channels.append(plain * torch.sqrt(new_variance + EPS) + new_mean)
        images.append(torch.stack(channels))
    return torch.stack(images)


def reference_content(x, order):
    """Another image's content, through which no gradient flows; the image's mean and variance."""
    images = []
    for image in range(len(x)):
        channels = []
        for own, other in zip(x[image], x[order[image]].detach(), strict=True):
            (mean, variance), (mean2, variance2) = _moments(own), _moments(other)
            plain = (other - mean2) / torch.sqrt(variance2 + EPS)
            channels.append(plain * torch.sqrt(variance + EPS) + mean)
        images.append(torch.stack(channels))
    return torch.stack(images)


def reference_adversary(logits):
    """Cross-entropy of the predictions with the uniform distribution."""
    images = []
    for row in logits:
        total = sum(torch.exp(one) for one in row)
        images.append(-sum(torch.log(torch.exp(one) / total) for one in row) / len(row))
    return sum(images) / len(images)


def test_styles_are_blended_by_the_formula(agree):
    module = pytest.importorskip("prorandconv.lab.methods.sagnet")
    order = torch.tensor([2, 0, 1])
    agree(
        lambda x, share: module.style_randomised(x, share, order),
        lambda x, share: reference_style(x, share, order),
        torch.randn(3, 2, 4, 5),
        torch.tensor([0.3, 0.9, 0.0]),
    )


def test_contents_are_exchanged_by_the_formula(agree):
    module = pytest.importorskip("prorandconv.lab.methods.sagnet")
    order = torch.tensor([2, 0, 1])
    agree(
        lambda x: module.content_randomised(x, order),
        lambda x: reference_content(x, order),
        torch.randn(3, 2, 4, 5),
    )


def test_the_adversary_wants_uniform_predictions(agree):
    module = pytest.importorskip("prorandconv.lab.methods.sagnet")
    agree(module.uniform_cross_entropy, reference_adversary, torch.randn(4, 5))
