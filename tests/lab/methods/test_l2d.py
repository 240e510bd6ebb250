"""L2D against its formulas, written with loops."""

import math

import pytest
import torch
import torch.nn.functional as F


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
        width = float(sum(sum(row) for row in apart)) / (n * n - n)
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
    module = pytest.importorskip("prorandconv.lab.methods.l2d")
    agree(module.log_likelihood, reference_likelihood, *torch.randn(3, 4, 5))


def test_the_bound_of_mutual_information_is_its_formula(agree):
    module = pytest.importorskip("prorandconv.lab.methods.l2d")
    order = torch.tensor([1, 3, 0, 2])
    agree(
        lambda *given: module.club(*given, order),
        lambda *given: reference_club(*given, order),
        *torch.randn(3, 4, 5),
    )


def test_the_discrepancy_is_that_of_classes_and_skips_absent_ones(agree):
    module = pytest.importorskip("prorandconv.lab.methods.l2d")
    labels = torch.tensor([0, 2, 0, 0, 2, 4])
    agree(
        lambda a, b: module.conditional_discrepancy(a, b, labels, 6),
        lambda a, b: reference_discrepancy(a, b, labels, 6),
        torch.randn(6, 3),
        torch.randn(6, 3),
    )


def test_equal_points_have_no_discrepancy_and_a_finite_gradient():
    module = pytest.importorskip("prorandconv.lab.methods.l2d")
    a = torch.ones(1, 3, requires_grad=True)
    found = module.conditional_discrepancy(a, a.detach().clone(), torch.tensor([0]), 2)
    (gradient,) = torch.autograd.grad(found, a)
    assert found.item() == 0
    assert torch.isfinite(gradient).all()


def test_the_augmenter_is_its_formula(agree):
    module = pytest.importorskip("prorandconv.lab.methods.l2d")
    sides = (3, 5)
    kernels = [[(torch.randn(3, 3, k, k) / k, torch.randn(3)) for _ in range(2)] for k in sides]
    colour = (torch.randn(3, 3, 1, 1), torch.randn(3))
    kernels, colour = (
        [[[t.double() for t in p] for p in pair] for pair in kernels],
        [t.double() for t in colour],
    )
    maps = [torch.randn(3, 9 - k, 9 - k) for k in sides for _ in range(2)]

    def split(function):
        def call(x, weights, *maps):
            return function(x, colour, kernels, maps[::2], maps[1::2], weights)

        return call

    weights = torch.tensor([0.5, -0.2, 1.3])
    maps = [torch.randn(3, 9 - k, 9 - k) for k in (2, 2, 4, 4)]
    agree(
        split(module.augmented), split(reference_augmented), torch.randn(2, 3, 8, 8), weights, *maps
    )


def test_a_sum_of_weights_near_zero_is_bounded():
    module = pytest.importorskip("prorandconv.lab.methods.l2d")
    weights = module.safe_weights(torch.tensor([1.0, -1.0 + 1e-9]))
    assert math.isfinite(float((weights / weights.sum()).abs().max()))
