"""The kernels for GPUs compute what the reference computes, on the CPU in Triton's interpreter."""

import hypothesis
import pytest
import torch
from cases import cases

from prorandconv import Draw, Options, ProRandConv, ProRandConvError, functional, ops
from prorandconv.ops import triton_engine


@pytest.fixture(autouse=True)
def _few_programs(monkeypatch):
    """The interpreter takes the programs in turn, so that fewer of them take less time."""
    monkeypatch.setattr(triton_engine, "_PROGRAMS", 1)


SMALL = cases(torch.float32, axes=(2,), fewest=1, most=2, largest=9)


@hypothesis.settings(
    max_examples=40, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
@hypothesis.given(SMALL)
def test_agrees_with_the_reference(case):
    x, draw = case
    expected = ops.apply(x.double(), draw.to(dtype=torch.float64), "reference")
    actual = ops.apply(x, draw, "triton")
    tolerance = 2e-4 * max(1.0, float(expected.abs().max()))
    torch.testing.assert_close(actual.double(), expected, atol=tolerance, rtol=0)
    assert torch.equal(ops.apply(x, draw, "triton"), actual), "replays bit for bit"


@pytest.mark.parametrize(("c_in", "c_out"), [(2, 5), (3, 1)])
def test_channels_may_change_in_one_convolution(c_in, c_out):
    x, weight = torch.randn(2, c_in, 4, 6), torch.randn(c_out, c_in, 1, 1)
    offsets = 0.4 * torch.randn(2, 4, 6)
    expected = functional.deform_conv(x, weight, offsets, engine="reference")
    actual = functional.deform_conv(x, weight, offsets, engine="triton")
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("options", [{"weights": "different"}, {"mode": "sample", "p": 0.5}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_transform_makes_what_it_makes_with_the_reference(options, dtype):
    x = torch.randn(4, 2, 5, 6).to(dtype)
    draw = ProRandConv(1, repeats=2, **options).draw(x)
    expected = functional.apply(x.double(), draw, "reference")
    actual = functional.apply(x, draw, "triton")
    tolerance = 8e-3 if dtype == torch.float16 else 1e-5
    torch.testing.assert_close(actual.double(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_statistics_of_many_tiles_are_merged_exactly(shift, monkeypatch):
    """Some at a time, and far from zero too, where sums of squares would cancel."""
    monkeypatch.setattr(triton_engine, "_MERGED", 4)
    x = shift + torch.randn(2, 1, 18, 40)
    options = Options(contrast=("standardise",))
    draw = Draw(weight=torch.ones(1, 1, 1, 1), size=(18, 40), options=options)
    expected = functional.contrast(x.double(), tanh=False)
    actual = ops.apply(x, draw, "triton")
    torch.testing.assert_close(actual.double(), expected, atol=2e-4 if shift else 2e-6, rtol=0)


def test_an_image_is_the_same_alone_and_in_a_batch():
    x = torch.randn(3, 1, 5, 9)
    draw = ProRandConv(1, repeats=2).draw(x)
    together = functional.apply(x, draw, "triton")
    assert torch.equal(together[1:2], functional.apply(x[1:2], draw, "triton"))


def test_the_operator_is_registered_soundly_and_no_break_of_a_graph():
    x = torch.randn(2, 1, 4, 5)
    arguments = (x, torch.randn(1, 1, 1, 1), torch.randn(2, 4, 5), torch.randn(1), torch.randn(1))
    operator = torch.ops.prorandconv.triton_block.default
    torch.library.opcheck(operator, (*arguments, True, True, 1e-5, [1], "zeros"))
    torch._dynamo.reset()
    draw = ProRandConv(1, repeats=1).draw(x)
    compiled = torch.compile(functional.apply, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x, draw, "triton"), functional.apply(x, draw, "triton"))


class TestChecks:
    """The kernels trust addresses and shapes, so the operator checks them."""

    def call(self, **changed):
        arguments = {
            "images": torch.randn(2, 1, 4, 5),
            "weight": torch.randn(1, 1, 1, 1),
            "offsets": torch.randn(2, 4, 5),
            "gamma": torch.randn(1),
            "beta": torch.randn(1),
        }
        arguments |= {name: change(arguments[name]) for name, change in changed.items()}
        return triton_engine.triton_block(*arguments.values(), True, True, 1e-5, [1], "zeros")

    @pytest.mark.parametrize("name", ["images", "weight", "offsets", "gamma", "beta"])
    def test_other_numbers(self, name):
        with pytest.raises(ProRandConvError, match=f"^{name}: got .*, expected torch.float32"):
            self.call(**{name: torch.Tensor.double})

    @pytest.mark.parametrize("name", ["weight", "offsets", "gamma", "beta"])
    def test_other_shapes(self, name):
        with pytest.raises(ProRandConvError, match=f"^{name}: got .*, expected the shape"):
            self.call(**{name: lambda tensor: tensor.unsqueeze(0)})
