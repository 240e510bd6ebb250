import copy
import math
import pickle

import pytest
import torch

from prorandconv.fields import draw_fields
from prorandconv.synthesis import Waves


def drawn(size, alpha=10.0, count=None, dtype=torch.float32):
    """Two fields for each of ``count`` draws, with a deviation of 0.5, 1, ..."""
    prefix = () if count is None else (count,)
    sigma = torch.arange(1, 1 + math.prod(prefix), dtype=dtype).view(prefix) / 2
    return draw_fields((*prefix, 2), size, alpha, sigma)


@pytest.mark.parametrize("alpha", [3.0, 10.0])
class TestFields:
    """What fields are made of, before and after they are made."""

    def test_has_the_shape_of_the_tensor_that_is_made_once(self, alpha):
        fields = drawn((9, 12), alpha, count=3)
        assert fields.shape == (3, 2, 9, 12)
        assert fields.made().shape == fields.shape
        assert fields.made() is fields.made()

    def test_deviations_are_sigma(self, alpha):
        made = drawn((9, 12), alpha, count=3).made()
        expected = torch.tensor([0.5, 1.0, 1.5])[:, None].expand(3, 2)
        torch.testing.assert_close(made.std((-2, -1), correction=0), expected)

    def test_some_have_the_bits_that_they_have_among_all(self, alpha):
        fields = drawn((9, 12), alpha, count=3)
        assert torch.equal(fields[1].made(), fields.made()[1])
        some = torch.tensor([2, 0])
        assert torch.equal(fields[some].made(), fields.made()[some])

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
    def test_a_copy_makes_the_same_bits(self, alpha, copied):
        fields = drawn((9, 12), alpha)
        made = fields.made()
        again = copied(fields)
        assert not again.edited
        assert torch.equal(again.made(), made)

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
    def test_a_copy_of_edited_fields_stays_edited(self, alpha, copied):
        fields = drawn((9, 12), alpha)
        assert not fields.edited
        fields.made().zero_()
        assert fields.edited
        again = copied(fields)
        assert again.edited
        assert again.made().eq(0).all()

    def test_what_was_made_in_inference_mode_serves_autograd(self, alpha):
        fields = drawn((6, 6), alpha)
        with torch.inference_mode():
            fields.made()
        scale = torch.ones((), requires_grad=True)
        (scale * fields.made()).square().sum().backward()
        assert scale.grad > 0


def test_noise_stays_where_it_is_and_its_fields_move():
    moved = drawn((6, 6), 3.0).to(torch.device("meta"))
    assert moved.device.type == moved.made().device.type == "meta"
    assert moved.coefficients.device.type == "cpu"


def test_coefficients_of_waves_move_without_their_fields():
    fields = drawn((224, 224))
    fields.made()
    moved = fields.to(torch.device("meta"))
    assert moved.coefficients.device.type == moved.sigma.device.type == "meta"
    assert len(pickle.dumps(fields)) < 3000


SIZES = [(1, 1), (2, 2), (8, 8), (9, 9), (32, 32), (1, 8), (8, 3), (20, 32), (33, 20)]


@pytest.mark.parametrize("alpha", [6.0, 10.0])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_coefficients_in_pixels_make_the_same_fields(size, alpha):
    fields = drawn(size, alpha, count=2, dtype=torch.float64)
    in_pixels = fields.in_pixels()
    assert in_pixels.sigma is None
    torch.testing.assert_close(in_pixels.made(), fields.made(), atol=1e-12, rtol=0)
    assert in_pixels.in_pixels() is in_pixels


def test_coefficients_in_pixels_do_not_need_the_fields(monkeypatch):
    fields = drawn((9, 30))
    monkeypatch.delattr(Waves, "_unscaled")  # makes the fields, which of a photo take a gigabyte
    assert fields.in_pixels().coefficients.shape == fields.coefficients.shape


class TestResized:
    """The same waves over an image of another size."""

    @pytest.mark.parametrize("size", [(8, 8), (16, 16), (12, 20), (21, 14)], ids=str)
    def test_twice_the_size_has_the_same_offsets_times_two_at_every_second_pixel(self, size):
        fields = drawn(size, dtype=torch.float64)
        doubled = fields.resized((2 * size[0], 2 * size[1]))
        assert doubled.shape == (2, 2 * size[0], 2 * size[1])
        torch.testing.assert_close(doubled.made()[:, ::2, ::2], 2 * fields.made())

    def test_back_and_forth_is_the_same(self):
        fields = drawn((12, 20), dtype=torch.float64)
        back = fields.resized((120, 200)).resized((12, 20))
        torch.testing.assert_close(back.made(), fields.made())

    def test_waves_too_short_for_the_pixels_are_left_out(self):
        fields = drawn((32, 32), dtype=torch.float64)
        small = fields.resized((4, 4))
        assert fields.coefficients.shape == (2, 9, 9)
        expected = fields.in_pixels().coefficients[:, :4, :4] / 8
        torch.testing.assert_close(small.coefficients, expected)

    def test_to_its_own_size_is_itself(self):
        fields = drawn((12, 20))
        assert fields.resized((12, 20)) is fields


def test_waves_in_pixels_are_the_sum_of_the_products():
    coefficients = torch.randn(2, 3, 5).double()
    made = Waves(coefficients, (6, 8), None).made()
    t = torch.arange(8).double()
    rows = [torch.ones(8).double()]
    for wave in range(1, 5):
        angle = 2 * math.pi * ((wave + 1) // 2) * t / 8
        rows.append(math.sqrt(2) * (angle.cos() if wave % 2 else angle.sin()))
    basis = torch.stack(rows)
    expected = torch.einsum("nrc,ry,cx->nyx", coefficients, basis[:3, :6], basis)
    torch.testing.assert_close(made, expected)


class TestFactors:
    """Waves as a product of matrices, for those who make the fields themselves."""

    @pytest.mark.parametrize("count", [None, 3])
    @pytest.mark.parametrize("size", [(32, 32), (9, 30), (30, 9), (1, 6), (1, 1)])
    def test_their_product_is_the_fields(self, size, count):
        fields = drawn(size, count=count)
        sigma, coefficients, (by_row, by_column) = fields.factors()
        product = sigma[..., None, None, None] * (by_row @ coefficients @ by_column)
        torch.testing.assert_close(product, fields.made(), atol=1e-5, rtol=0)

    def test_those_in_pixels_have_no_sigma(self):
        fields = drawn((9, 30), count=2).in_pixels()
        sigma, coefficients, (by_row, by_column) = fields.factors()
        assert sigma.tolist() == [1, 1]
        torch.testing.assert_close(by_row @ coefficients @ by_column, fields.made())

    def test_rows_are_those_of_the_fields(self):
        fields = drawn((20, 30), count=2)
        rows = fields.rows(slice(3, 8))
        torch.testing.assert_close(rows, fields.made()[..., 3:8, :], atol=1e-5, rtol=0)


def test_some_of_several_draws_are_not_made_before_they_are_needed():
    fields = drawn((32, 32), count=3)
    some = fields[torch.tensor([2, 0])]
    assert "_tensor" not in vars(fields)
    assert torch.equal(some.made(), fields.made()[[2, 0]])


@pytest.mark.parametrize("size", [(12, 16), (16, 12), (5, 9, 7)])
def test_making_some_rows_leaves_a_draw_in_double_precision_as_it_is(size):
    sigma = torch.tensor(0.3, dtype=torch.float64)
    fields = draw_fields((4,), size, 10.0, sigma)
    before = fields.coefficients.clone()
    fields.rows(*(slice(0, 2),) * (len(size) - 1))
    assert torch.equal(fields.coefficients, before)


@pytest.mark.parametrize("size", [(6, 6, 6), (3, 9, 7), (7, 4, 2), (1, 5, 5)])
class TestVolumes:
    """Waves with a depth."""

    def test_some_planes_and_rows_are_those_of_the_fields(self, size):
        fields = draw_fields((6,), size, 10.0, torch.tensor(0.3))
        some = fields.rows(slice(0, 2), slice(1, 4))
        torch.testing.assert_close(some, fields.made()[:, 0:2, 1:4], atol=1e-5, rtol=0)

    def test_coefficients_in_pixels_make_the_same_fields(self, size):
        fields = draw_fields((2, 6), size, 10.0, torch.tensor([0.3, 2.0], dtype=torch.float64))
        torch.testing.assert_close(fields.in_pixels().made(), fields.made(), atol=1e-11, rtol=0)

    def test_no_offset_is_farther_than_the_bound(self, size):
        fields = draw_fields((60,), size, 10.0, torch.tensor(0.3))
        farthest = fields.made().abs().max()
        assert farthest < fields.farthest()
        assert fields.farthest() < 2 * farthest
