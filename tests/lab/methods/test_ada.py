"""ADA and ME-ADA against their formulas, written with loops."""

import pytest
import torch


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
    module = pytest.importorskip("prorandconv.lab.methods.ada")
    labels = torch.tensor([0, 3, 1])
    agree(
        lambda *given: module.objective(*given, labels, gamma, eta),
        lambda *given: reference_objective(*given, labels, gamma, eta),
        torch.randn(3, 4),
        torch.randn(3, 5),
        torch.randn(3, 5),
    )


def test_the_ascent_moves_each_image_as_if_it_were_alone():
    pytest.importorskip("prorandconv.lab.methods.ada")
    ascent = pytest.importorskip("prorandconv.lab.methods.ascent")
    ada = pytest.importorskip("prorandconv.lab.methods.ada")
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
