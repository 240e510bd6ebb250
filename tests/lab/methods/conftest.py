"""What tests of formulas share."""

import pytest
import torch

from prorandconv.lab.data import ImageFormat
from prorandconv.lab.data.samples import Batch
from prorandconv.lab.methods.learner import RunInfo


@pytest.fixture(autouse=True)
def seeded():
    """Random tensors of a test are the same each time."""
    torch.manual_seed(0)


def _values_and_gradients(function, tensors):
    given = [
        one.detach().double().requires_grad_() if one.is_floating_point() else one
        for one in tensors
    ]
    result = function(*given)
    weights = torch.linspace(1, 2, result.numel(), dtype=torch.float64).view(result.shape)
    learnt = [one for one in given if one.requires_grad]
    total = (result * weights).sum()  # different weights: no two values may be swapped
    return [result, *torch.autograd.grad(total, learnt, allow_unused=True, materialize_grads=True)]


@pytest.fixture
def agree():
    """Check a function against its reference: equal values, and equal gradients by all inputs.

    Both compute in double precision. Inputs of integers are given as they are.
    """

    def check(function, reference, *tensors):
        found, expected = (_values_and_gradients(one, tensors) for one in (function, reference))
        assert any(one.abs().max() > 1e-6 for one in expected[1:])  # a gradient that says something
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)

    return check


@pytest.fixture
def info():
    """What learners know of a run on images of 16 pixels in five classes."""
    form = ImageFormat(16, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), False)
    return RunInfo(form, 5, 1, 10, 4, None, lambda tensor: tensor)


@pytest.fixture
def batch():
    """Six images of 16 pixels."""
    labels = torch.tensor([0, 1, 1, 3, 4, 0])
    return Batch(torch.rand(6, 3, 16, 16) * 4 - 2, labels, torch.zeros(6, dtype=torch.long))
