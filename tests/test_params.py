"""A draw holds together: what does not fit is refused when it is made, by name."""

from dataclasses import fields, replace

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch

from prorandconv import ProRandConv, ProRandConvError, ProRandConvParams, RandConv, functional

X = torch.linspace(-1, 1, 2 * 3 * 8 * 8).view(2, 3, 8, 8)
BATCH = ProRandConv(repeats=2, p=0.5).draw(X)
SAMPLE = ProRandConv(repeats=2, mode="sample").draw(X)
LAYERS = ProRandConv(repeats=3, weights="different").draw(X)
MIXED = RandConv(mix=True, mode="sample", identity=0.0).draw(X)


@pytest.mark.parametrize(
    ("params", "edit", "named"),
    [
        (BATCH, {"weight": torch.zeros(3, 3, 5, 5)}, "offsets"),
        (BATCH, {"weight": torch.zeros(4, 4, 3, 3)}, "gamma"),
        (BATCH, {"weight": torch.zeros(3, 4, 3, 3)}, "weight"),
        (BATCH, {"weight": torch.zeros(3, 3, 3, 5)}, "weight"),
        (BATCH, {"weight": torch.zeros(3, 3, 2, 2)}, "weight"),
        (BATCH, {"weight": torch.zeros(3, 3, 3, 3, dtype=torch.int64)}, "weight"),
        (BATCH, {"weight": np.zeros((3, 3, 3, 3))}, "weight"),
        (BATCH, {"weight": None}, "weight"),
        (BATCH, {"offsets": torch.zeros(9, 8, 8)}, "offsets"),
        (BATCH, {"offsets": torch.zeros(18, 64)}, "offsets"),
        (BATCH, {"gamma": torch.zeros(1)}, "gamma"),
        (BATCH, {"gamma": torch.zeros(())}, "gamma"),
        (BATCH, {"gamma": 0.5}, "gamma"),
        (BATCH, {"gamma": None}, "gamma"),
        (BATCH, {"beta": None}, "beta"),
        (BATCH, {"beta": torch.zeros(2, 3)}, "beta"),
        (BATCH, {"repeats": -1}, "repeats"),
        (BATCH, {"repeats": 1.0}, "repeats"),
        (BATCH, {"repeats": [1, 2]}, "repeats"),
        (BATCH, {"repeats": (2, 2)}, "weight"),
        (BATCH, {"chosen": torch.tensor([2])}, "chosen"),
        (BATCH, {"chosen": torch.tensor([-1])}, "chosen"),
        (BATCH, {"chosen": torch.tensor([0, 0])}, "chosen"),
        (BATCH, {"chosen": torch.tensor([True, False])}, "chosen"),
        (BATCH, {"chosen": [0]}, "chosen"),
        (BATCH, {"batch": None}, "batch"),
        (BATCH, {"layered": True}, "weight"),
        (SAMPLE, {"repeats": 2}, "weight"),
        (SAMPLE, {"repeats": (2,)}, "weight"),
        (SAMPLE, {"repeats": (2, -2)}, "repeats"),
        (SAMPLE, {"offsets": SAMPLE.offsets[0]}, "offsets"),
        (SAMPLE, {"gamma": SAMPLE.gamma[0]}, "gamma"),
        (SAMPLE, {"batch": 3}, "batch"),
        (LAYERS, {"repeats": 5}, "repeats"),
        (LAYERS, {"weight": LAYERS.weight[:2]}, "repeats"),
        (LAYERS, {"layered": False}, "weight"),
        (MIXED, {"mix": torch.zeros(())}, "mix"),
        (MIXED, {"mix": torch.zeros(2, 1)}, "mix"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(params, edit, named):
    with pytest.raises(ProRandConvError, match=f"^{named}: got .*, expected "):
        replace(params, **edit)


@pytest.mark.parametrize(
    ("params", "edit"),
    [
        (BATCH, {"repeats": 7}),
        (BATCH, {"chosen": None, "batch": None}),
        (BATCH, {"offsets": None}),
        (BATCH, {"gamma": None, "beta": None}),
        (BATCH, {"weight": BATCH.weight.double()}),
        (SAMPLE, {"repeats": (0, 5)}),
        (LAYERS, {"repeats": 2}),
        (MIXED, {"mix": None}),
    ],
)
def test_an_edit_that_fits_is_applied(params, edit):
    edited = replace(params, **edit)
    assert all(getattr(edited, name) is value for name, value in edit.items() if name != "repeats")
    apply = functional.rand_conv if params is MIXED else functional.pro_rand_conv
    assert apply(X, edited).isfinite().all()


OPTIONS = st.fixed_dictionaries(
    {
        "kernel_size": st.sampled_from([1, 3, 5]),
        "repeats": st.integers(1, 3),
        "weights": st.sampled_from(["same", "different"]),
        "offsets": st.sampled_from([None, "auto", (1.0, 4.0)]),
        "contrast": st.booleans(),
        "mode": st.sampled_from(["batch", "sample"]),
        "p": st.sampled_from([0.5, 1.0]),
    }
)
SHAPE = st.tuples(st.integers(1, 3), st.sampled_from([1, 3]), st.integers(1, 9), st.integers(1, 9))
NAMES = [field.name for field in fields(ProRandConvParams)]


@pytest.mark.parametrize("engine", ["auto", "eager"])
@hypothesis.settings(max_examples=60)
@hypothesis.given(OPTIONS, OPTIONS, SHAPE, SHAPE, st.sets(st.sampled_from(NAMES), min_size=1))
def test_fields_of_another_draw_are_refused_or_used(engine, one, other, shape, other_shape, names):
    x = torch.randn(shape)
    params = ProRandConv(**one).draw(x)
    stranger = ProRandConv(**other).draw(torch.randn(other_shape))
    try:
        edited = replace(params, **{name: getattr(stranger, name) for name in names})
        actual = functional.pro_rand_conv(x, edited, engine=engine)
    except ProRandConvError:
        return
    expected = functional.pro_rand_conv(x.double(), edited, engine="reference")
    torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("number", [np.int64(4), torch.tensor(4)])
def test_repeats_may_be_any_integer(number):
    assert replace(BATCH, repeats=number).repeats == 4
    assert replace(SAMPLE, repeats=(number, 1)).repeats == (4, 1)


@pytest.mark.parametrize("engine", ["auto", "eager"])
def test_edited_offsets_are_used_to_their_full_reach(engine):
    """Offsets of up to a pixel allow a short cut that must not be taken with larger ones."""
    x = torch.randn(2, 3, 32, 32)
    params = ProRandConv(repeats=1).draw(x)
    params = replace(params, offsets=30 * params.offsets.dense())
    expected = functional.pro_rand_conv(x, params, engine="reference")
    actual = functional.pro_rand_conv(x, params, engine=engine)
    torch.testing.assert_close(actual, expected, atol=1e-4, rtol=0)


class TestResized:
    """The same style at another size."""

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_offsets_grow_with_the_image_and_the_rest_stays(self, mode):
        params = ProRandConv(mode=mode, p=0.5).draw(torch.zeros(2, 3, 12, 16))
        grown = params.resized((24, 32))
        assert grown.size == (24, 32)
        torch.testing.assert_close(
            grown.offsets.dense()[..., ::2, ::2], 2 * params.offsets.dense(), atol=1e-6, rtol=0
        )
        assert grown.repeats == params.repeats
        for name in ("weight", "gamma", "beta", "chosen", "batch", "options"):
            assert getattr(grown, name) is getattr(params, name)

    def test_a_smooth_image_and_its_thumbnail_get_the_same_style(self):
        augment = ProRandConv(1, repeats=2, offsets=(2.0, 2.0), padding="replicate")
        y, x = torch.meshgrid(*2 * [(torch.arange(64) + 0.5) / 64], indexing="ij")
        photo = torch.stack(((3 * x).sin(), (4 * y).cos(), (3 * x + 2 * y).sin()))
        thumbnail = torch.nn.functional.avg_pool2d(photo, 2)
        params = augment.draw(photo, torch.Generator().manual_seed(3))
        large = torch.nn.functional.avg_pool2d(augment(photo, params=params), 2)
        small = augment(thumbnail, params=params.resized((32, 32)))
        assert (large - small).abs().mean() < 0.02 * small.std()

    def test_a_draw_without_offsets_is_for_any_size(self):
        params = ProRandConv(offsets=None).draw(X)
        assert params.resized((20, 30)).size == (20, 30)
        assert torch.equal(params.resized((20, 30)).weight, params.weight)

    def test_offsets_given_as_a_tensor_cannot_grow(self):
        with pytest.raises(ProRandConvError, match=r"^offsets: got 'a tensor', expected None, or"):
            replace(BATCH, offsets=BATCH.offsets.dense()).resized((16, 16))

    @pytest.mark.parametrize("size", [16, (16,), (0, 4), (8.0, 8), None, "88"])
    def test_a_wrong_size_is_named(self, size):
        with pytest.raises(ProRandConvError, match=r"^size: got .*, expected \(height, width\)"):
            BATCH.resized(size)


def test_the_size_is_that_of_the_offsets_or_of_the_images():
    assert BATCH.size == (8, 8)
    assert ProRandConv(offsets=None).draw(torch.zeros(3, 5, 7)).size == (5, 7)
    assert replace(BATCH, offsets=torch.zeros(18, 5, 7)).size == (5, 7)
    assert ProRandConvParams(BATCH.weight, None, None, None, 1).size is None


@pytest.mark.parametrize(
    ("call", "got", "expected"),
    [
        (lambda: ProRandConv()(X, params=MIXED), "RandConvParams", r"ProRandConv\.draw"),
        (lambda: RandConv()(X, params=BATCH), "ProRandConvParams", r"RandConv\.draw"),
        (lambda: functional.pro_rand_conv(X, MIXED), "RandConvParams", r"ProRandConv\.draw"),
        (lambda: functional.rand_conv(X, {"repeats": 1}), "dict", r"RandConv\.draw"),
        (lambda: functional.pro_rand_conv(X, None), "NoneType", r"ProRandConv\.draw"),
    ],
)
def test_what_is_no_draw_of_this_transform_is_refused_by_name(call, got, expected):
    with pytest.raises(ProRandConvError, match=f"^params: got '{got}', expected .*{expected}"):
        call()


def test_to_moves_every_tensor_but_the_choice_of_images():
    params = BATCH.to("meta")
    for field in fields(params):
        value = getattr(params, field.name)
        if isinstance(value, torch.Tensor):
            assert value.device.type == ("cpu" if field.name == "chosen" else "meta")
    assert params.offsets.coefficients.device.type == "meta"


def test_to_the_same_device_is_the_same_draw():
    assert BATCH.to("cpu") is BATCH


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("mode", ["batch", "sample"])
def test_a_draw_is_on_the_images_device(count, mode):
    images = torch.empty(count, 3, 8, 8, device="meta")
    for augment in (ProRandConv(mode=mode), RandConv(mode=mode, offsets="auto", mix=True)):
        tensors = augment.draw(images)._tensors().values()
        assert {tensor.device.type for tensor in tensors} == {"meta"}
