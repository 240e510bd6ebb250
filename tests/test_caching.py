import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from prorandconv.caching import cached


@pytest.fixture
def ramp():
    @cached(maxsize=4)
    def build(length):
        return torch.arange(length, dtype=torch.float32, device="cpu")

    return build


def test_the_same_arguments_give_the_same_tensor(ramp):
    assert ramp(3).tolist() == [0, 1, 2]
    assert ramp(3) is ramp(3)
    assert ramp(4) is not ramp(3)


def test_what_was_made_in_inference_mode_serves_autograd(ramp):
    with torch.inference_mode():
        made = ramp(3)
    weight = torch.ones(3, requires_grad=True)
    (weight * made).sum().backward()
    assert weight.grad.tolist() == [0, 1, 2]
    assert ramp(3) is made


def test_a_fake_mode_leaves_nothing_in_the_cache(ramp):
    with FakeTensorMode():
        ramp(3)
    assert type(ramp(3)) is Tensor
    assert ramp(3).tolist() == [0, 1, 2]


def test_a_fake_mode_takes_nothing_from_the_cache(ramp):
    ramp(3)
    with FakeTensorMode() as mode:
        assert ramp(3).fake_mode is mode


def test_a_compiled_graph_has_its_own_constant(ramp):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x * ramp(3), fullgraph=True, backend="aot_eager")
    assert compiled(torch.ones(3)).tolist() == [0, 1, 2]
