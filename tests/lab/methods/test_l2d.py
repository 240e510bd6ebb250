"""L2D against its formulas, written with loops."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from prorandconv.lab.methods import l2d
from prorandconv.lab.methods.losses import supervised_contrast


def reference_likelihood(mean, log_variance, sample):
    """Mean over images and dimensions of -(μ - z)²/σ² - log σ²."""
    total = 0.0
    for m, v, z in zip(*(t.reshape(-1) for t in (mean, log_variance, sample)), strict=True):
        total = total - (m - z) ** 2 / torch.exp(v) - v
    return total / mean.numel()


def reference_club(mean, log_variance, sample, order):
    """Half the mean over images of log q(z_i|x_i) - log q(z_j|x_i), summed over dimensions."""
    total = 0.0
    for image in range(len(mean)):
        for place in range(mean.shape[1]):
            m, variance = mean[image, place], torch.exp(log_variance[image, place])
            total = total - (m - sample[image, place]) ** 2 / variance
            total = total + (m - sample[order[image], place]) ** 2 / variance
    return total / len(mean) / 2


def reference_discrepancy(a, b, labels, classes):
    """Σ over classes of MMD², five RBF kernels, over the number of all classes.

    Bandwidths are 1/4 to 4 times the mean squared distance of all points of the class, which gets
    no gradient.
    """
    total = 0.0
    for wanted in range(classes):
        rows = [i for i, label in enumerate(labels.tolist()) if label == wanted]
        if not rows:
            continue
        points = [*(a[i] for i in rows), *(b[i] for i in rows)]
        n = len(points)
        apart = [[((p - q) ** 2).sum() for q in points] for p in points]
        width = sum(sum(row) for row in apart).detach() / (n * n - n)
        kernel = [
            [sum(torch.exp(-d / (width / 4 * 2**k)) for k in range(5)) for d in row]
            for row in apart
        ]
        half = n // 2
        for i in range(half):
            for j in range(half):
                same = kernel[i][j] + kernel[half + i][half + j]
                other = kernel[i][half + j] + kernel[half + i][j]
                total = total + (same - other) / half**2
    return total / classes


def reference_augmented(x, colour, kernels, scales, shifts, weights):
    """Five branches, their weighted sum over the sum of the weights, through a sigmoid.

    colour is the weight and bias of a 1×1 convolution; each of kernels is that of a convolution
    and of the transposed one after it, between which each image and channel is normalised, scaled
    and shifted at each place.
    """
    total = weights[0] * torch.tanh(F.conv2d(x, *colour))
    parts = zip(kernels, scales, shifts, weights[1:], strict=True)
    for (down, up), scale, shift, weight in parts:
        inner = F.conv2d(x, *down)
        images = []
        for image in inner:
            channels = []
            for place, channel in enumerate(image):
                mean = channel.mean()
                variance = ((channel - mean) ** 2).mean()
                plain = (channel - mean) / torch.sqrt(variance + 1e-5)
                channels.append(scale[place] * plain + shift[place])
            images.append(torch.stack(channels))
        total = total + weight * torch.tanh(F.conv_transpose2d(torch.stack(images), *up))
    return torch.sigmoid(total / sum(weights))


def test_the_likelihood_is_its_formula(agree):
    agree(l2d.log_likelihood, reference_likelihood, *torch.randn(3, 4, 5))


def test_the_bound_of_mutual_information_is_its_formula(agree):
    order = torch.tensor([1, 3, 0, 2])
    agree(
        lambda *given: l2d.club(*given, order),
        lambda *given: reference_club(*given, order),
        *torch.randn(3, 4, 5),
    )


def test_the_discrepancy_is_that_of_classes_and_skips_absent_ones(agree):
    labels = torch.tensor([0, 2, 0, 0, 2, 4])
    agree(
        lambda a, b: l2d.conditional_discrepancy(a, b, labels, 6),
        lambda a, b: reference_discrepancy(a, b, labels, 6),
        torch.randn(6, 3),
        torch.randn(6, 3),
    )


def test_equal_points_have_no_discrepancy_and_a_finite_gradient():
    a = torch.ones(1, 3, requires_grad=True)
    found = l2d.conditional_discrepancy(a, a.detach().clone(), torch.tensor([0]), 2)
    (gradient,) = torch.autograd.grad(found, a)
    assert found.item() == 0
    assert torch.isfinite(gradient).all()


def test_the_augmenter_is_its_formula(agree):
    sides = (3, 5)
    colour, *layers = (
        (torch.randn(3, 3, k, k).double() / k, torch.randn(3).double()) for k in (1, 3, 3, 5, 5)
    )
    kernels = [layers[:2], layers[2:]]
    maps = [torch.randn(3, 9 - k, 9 - k) for k in (*sides, *sides)]
    x, weights = torch.randn(2, 3, 8, 8), torch.tensor([0.5, -0.2, 1.3])

    def given(function):
        return lambda x, weights, *maps: function(x, colour, kernels, maps[:2], maps[2:], weights)

    agree(given(l2d.augmented), given(reference_augmented), x, weights, *maps)


def test_both_rounds_are_their_formulas(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    learner = l2d.L2D(likelihood=0.3, contrast=0.5, information=0.1).learner(network, info)
    bottleneck, x, y = network[1], batch.images, batch.labels
    rounds = learner.step(batch, torch.Generator().manual_seed(3))
    found = [next(rounds)["network"], next(rounds)["augmenter"]]
    same = torch.Generator().manual_seed(3)
    means, logs, drawn = [], [], []
    for generator in (same, None):
        view = learner.augmenter(x, info.format, generator)
        features = torch.cat([view, x]).flatten(1)
        means.append(F.leaky_relu(bottleneck.mean[0](features)))
        logs.append(F.relu(bottleneck.log_variance[0](features)))
        noise = torch.randn(12, 768, generator=same)
        drawn.append(means[-1] + 0.2 * torch.exp(logs[-1] / 2) * noise)
    order = torch.randperm(6, generator=same)
    expected = (
        F.cross_entropy(bottleneck.head(drawn[0]), y.repeat(2))
        - 0.3 * reference_likelihood(means[0][6:], logs[0][6:], drawn[0][:6])
        + 0.5 * supervised_contrast(drawn[0].view(2, 6, 768), y, 0.07)  # it has its own reference
    )
    torch.testing.assert_close(found[0], expected)
    expected = reference_discrepancy(drawn[1][:6], drawn[1][6:], y, 5)
    expected = expected + 0.1 * reference_club(means[1][6:], logs[1][6:], drawn[1][:6], order)
    torch.testing.assert_close(found[1], expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(network(x[:1]), bottleneck.head(means[0][6:7]))  # evaluated: means


@pytest.mark.parametrize(("form", "side"), [("small", 16), ("large", 32)])
def test_the_augmenter_draws_as_pytorch_begins(form, side):
    augmenter = l2d.Augmenter(l2d.FORMS[form], side)
    torch.manual_seed(0)
    found = augmenter._layers(torch.Generator().manual_seed(0))
    assert len(found) == 1 + 2 * len(l2d.FORMS[form].kernels)
    for (weight, bias), layer in zip(found[1:3], (nn.Conv2d, nn.ConvTranspose2d), strict=True):
        usual = layer(3, 3, l2d.FORMS[form].kernels[0])
        assert weight.shape == usual.weight.shape
        assert bias.shape == usual.bias.shape
        torch.testing.assert_close(weight.std(), usual.weight.std(), rtol=0.3, atol=0)
        torch.testing.assert_close(weight.abs().max(), usual.weight.abs().max(), rtol=0.1, atol=0)
