"""M-ADA against its formulas: loops and finite differences."""

import math

import torch
from torch import nn

from prorandconv.lab.methods import m_ada


def reference_cross_entropy(weights, bias, x, y):
    total = 0.0
    for image, label in zip(x, y, strict=True):
        logits = [(row * image).sum() + b for row, b in zip(weights, bias, strict=True)]
        total = total - logits[int(label)] + torch.log(sum(torch.exp(one) for one in logits))
    return total / len(x)


def reference_step(weights, bias, x, y):
    """The gradient of softmax regression, written by hand."""
    by_weights, by_bias = torch.zeros_like(weights), torch.zeros_like(bias)
    for image, label in zip(x, y, strict=True):
        logits = [(row * image).sum() + b for row, b in zip(weights, bias, strict=True)]
        total = sum(torch.exp(one) for one in logits)
        for place, one in enumerate(logits):
            error = (torch.exp(one) / total - float(place == int(label))) / len(x)
            by_weights[place] += error * image
            by_bias[place] += error
    return by_weights, by_bias


def reference_meta_loss(weights, bias, x, y, x2, y2, rate):
    """(CE(source; θ) + CE(augmented; θ - η ∇CE(source; θ))) / 2."""
    by_weights, by_bias = reference_step(weights, bias, x, y)
    after = reference_cross_entropy(weights - rate * by_weights, bias - rate * by_bias, x2, y2)
    return (reference_cross_entropy(weights, bias, x, y) + after) / 2


def reference_autoencoder_losses(scores, prior_scores, code, prior, found, pixels):
    """Of the autoencoder: BCE summed over all pixels, and 100 times the critic's BCE for "prior".

    Of the critic: 100 times BCE of prior samples as 1 and of codes as 0. A score counts with the
    log density of N(0, 1) at its own point added.
    """

    def density(z):
        return sum(-0.5 * math.log(2 * math.pi) - 0.5 * one**2 for one in z)

    def sigmoid(one):
        return 1 / (1 + torch.exp(-one))

    images = range(len(code))
    coded = [sigmoid(scores[i] + density(code[i])) for i in images]
    drawn = [sigmoid(prior_scores[i] + density(prior[i])) for i in images]
    pairs = zip(found.reshape(-1), pixels.reshape(-1), strict=True)
    task = -sum(p * torch.log(q) + (1 - p) * torch.log(1 - q) for q, p in pairs)
    fooled = -sum(torch.log(one) for one in coded) / len(code)
    critic = -sum(torch.log(one) for one in drawn) - sum(torch.log(1 - one) for one in coded)
    return torch.stack([task + 100 * fooled, 100 * critic / len(code)])


def test_the_meta_loss_is_its_formula_with_the_second_derivative():
    network = nn.Linear(5, 3).double()
    x, x2 = torch.randn(2, 4, 5).double()
    y, y2 = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 1]])
    rate = 0.7  # large: the second derivative counts
    loss = m_ada.meta_loss(network, x, y, x2, y2, rate)
    given = [one.detach().clone() for one in (network.weight, network.bias)]
    expected = reference_meta_loss(*given, x, y, x2, y2, rate)
    torch.testing.assert_close(loss.detach(), expected)
    found = torch.autograd.grad(loss, [network.weight, network.bias])
    for tensor, gradient in zip(given, found, strict=True):
        flat = tensor.view(-1)
        for place in range(len(flat)):
            values = []
            for step in (1e-5, -2e-5):  # ahead, then behind
                flat[place] += step
                values.append(reference_meta_loss(*given, x, y, x2, y2, rate))
            flat[place] += 1e-5
            slope = (values[0] - values[1]) / 2e-5
            torch.testing.assert_close(gradient.view(-1)[place], slope, rtol=1e-5, atol=1e-8)


def test_the_autoencoders_losses_are_their_formulas(agree):
    agree(
        lambda scores, prior_scores, code, prior, *images: torch.stack(
            m_ada.autoencoder_losses(
                m_ada.with_density(scores, code),
                m_ada.with_density(prior_scores, prior),
                *images,
            )
        ),
        reference_autoencoder_losses,
        torch.randn(3),
        torch.randn(3),
        0.5 * torch.randn(3, 2),
        0.5 * torch.randn(3, 2),
        0.1 + 0.8 * torch.rand(3, 4),
        0.1 + 0.8 * torch.rand(3, 4),
    )


def test_the_objective_relaxes_the_distance_of_what_the_autoencoder_makes(agree):

    def reference(found, originals):
        rows = zip(found, originals, strict=True)
        return torch.stack([sum((p - q) ** 2 for p, q in zip(*r, strict=True)) / 6 for r in rows])

    agree(m_ada.relaxation, reference, torch.rand(3, 6), torch.rand(3, 6))
