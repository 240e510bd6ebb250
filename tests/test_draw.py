"""A draw holds together and is replayed as it was made."""

import copy
import math
import pickle
from dataclasses import fields, replace

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch

from prorandconv import Draw, Options, ProRandConv, ProRandConvError, RandConv, functional
from prorandconv.fields import Field

X = torch.linspace(-1, 1, 2 * 3 * 8 * 8).view(2, 3, 8, 8)
BATCH = ProRandConv(repeats=2, p=0.5).draw(X)
SAMPLE = ProRandConv(repeats=2, mode="sample").draw(X)
LAYERS = ProRandConv(repeats=3, weights="different").draw(X)
MIXED = RandConv(mix=True, mode="sample", identity=0.0).draw(X)


class TestOptions:
    """Options of applying a draw are checked when they are set."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("contrast", ("standardize",)),
            ("contrast", "tanh"),
            ("contrast", 1),
            ("eps", -1),
            ("eps", math.nan),
            ("padding", "wrap"),
            ("bound", "clmap"),
            ("bound", "clamp"),
            ("output", "pixel"),
            ("mean", ()),
            ("mean", "grey"),
            ("std", 0),
            ("std", (0.5, -0.1)),
        ],
    )
    def test_a_wrong_one_is_named(self, name, value):
        with pytest.raises(ProRandConvError, match=f"^{name}: got .*, expected "):
            Options(**{name: value})

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"output": "pixels", "contrast": ()}, "output"),
            ({"mean": (0.1, 0.2, 0.3), "std": (0.1, 0.2)}, "std"),
        ],
    )
    def test_those_that_do_not_fit_together_are_named(self, options, named):
        with pytest.raises(ProRandConvError, match=f"^{named}: got .*, expected "):
            Options(**options)

    def test_they_may_be_written_in_several_ways(self):
        written = Options(contrast=True, eps=np.float32(0.5), mean=np.array([0.25]), std=0.5)
        assert written == Options(eps=0.5, mean=(0.25,))
        assert Options(contrast=False).contrast == ()
        assert Options(contrast=["tanh", "standardise"]).contrast == ("standardise", "tanh")

    def test_of_other_channels_do_not_fit_a_draw(self):
        with pytest.raises(ProRandConvError, match=r"^mean: got .*3 channels"):
            replace(BATCH, options=Options(mean=(0.1, 0.2)))


@pytest.mark.parametrize(
    ("draw", "edit", "named"),
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
        (BATCH, {"offsets": [0.0]}, "offsets"),
        (BATCH, {"offsets": None, "size": None}, "size"),
        (BATCH, {"gamma": torch.zeros(1)}, "gamma"),
        (BATCH, {"gamma": 0.5}, "gamma"),
        (BATCH, {"gamma": None}, "gamma"),
        (BATCH, {"beta": None}, "beta"),
        (BATCH, {"beta": torch.zeros(2, 3)}, "beta"),
        (BATCH, {"repeats": -1}, "repeats"),
        (BATCH, {"repeats": 1.0}, "repeats"),
        (BATCH, {"repeats": True}, "repeats"),
        (BATCH, {"repeats": 10**18}, "repeats"),
        (BATCH, {"repeats": [1, 2]}, "repeats"),
        (BATCH, {"repeats": (2, 2)}, "weight"),
        (BATCH, {"selected": torch.tensor([2])}, "selected"),
        (BATCH, {"selected": torch.tensor([-1])}, "selected"),
        (BATCH, {"selected": torch.tensor([0, 0])}, "selected"),
        (BATCH, {"selected": torch.tensor([True, False])}, "selected"),
        (BATCH, {"selected": [0]}, "selected"),
        (BATCH, {"batch_size": None}, "batch_size"),
        (BATCH, {"batch_size": -5, "selected": None}, "batch_size"),
        (SAMPLE, {"repeats": 2}, "offsets"),
        (SAMPLE, {"repeats": (2,)}, "weight"),
        (SAMPLE, {"repeats": (2, -2)}, "repeats"),
        (SAMPLE, {"offsets": SAMPLE.offsets[0]}, "offsets"),
        (SAMPLE, {"gamma": SAMPLE.gamma[0]}, "gamma"),
        (SAMPLE, {"batch_size": 3}, "batch_size"),
        (LAYERS, {"repeats": 5}, "repeats"),
        (LAYERS, {"weight": LAYERS.weight[:2]}, "repeats"),
        (MIXED, {"mix": torch.zeros(())}, "mix"),
        (MIXED, {"mix": torch.zeros(2, 1)}, "mix"),
    ],
)
def test_an_edit_that_does_not_fit_raises_an_error(draw, edit, named):
    with pytest.raises(ProRandConvError, match=f"^{named}: got .*, expected "):
        replace(draw, **edit)


@pytest.mark.parametrize(
    ("draw", "edit"),
    [
        (BATCH, {"repeats": 7}),
        (BATCH, {"selected": None, "batch_size": None}),
        (BATCH, {"offsets": None}),
        (BATCH, {"gamma": None, "beta": None}),
        (BATCH, {"weight": BATCH.weight.double()}),
        (SAMPLE, {"repeats": (0, 5)}),
        (LAYERS, {"repeats": 2}),
        (MIXED, {"mix": None}),
    ],
)
def test_an_edit_that_fits_is_applied(draw, edit):
    edited = replace(draw, **edit)
    assert all(getattr(edited, name) is value for name, value in edit.items() if name != "repeats")
    assert functional.apply(X, edited).isfinite().all()


OPTIONS = st.fixed_dictionaries(
    {
        "kernel_size": st.sampled_from([1, 3]),
        "repeats": st.integers(1, 3),
        "weights": st.sampled_from(["same", "different"]),
        "offsets": st.sampled_from([None, "auto", (1.0, 4.0)]),
        "contrast": st.booleans(),
        "mode": st.sampled_from(["batch", "sample"]),
        "p": st.sampled_from([0.5, 1.0]),
    }
)
SHAPE = st.tuples(st.integers(2, 3), st.sampled_from([1, 3]), st.integers(7, 8), st.just(8))
NAMES = [field.name for field in fields(Draw)]


@pytest.mark.parametrize("engine", ["auto", "eager"])
def test_parts_of_another_draw_raise_an_error_or_are_used(engine):
    applied = []

    @hypothesis.settings(max_examples=60)
    @hypothesis.given(OPTIONS, OPTIONS, SHAPE, SHAPE, st.sets(st.sampled_from(NAMES), min_size=1))
    def check(one, other, shape, other_shape, names):
        x = torch.randn(shape)
        draw = ProRandConv(**one).draw(x)
        stranger = ProRandConv(**other).draw(torch.randn(other_shape))
        try:
            edited = replace(draw, **{name: getattr(stranger, name) for name in names})
            actual = functional.apply(x, edited, engine=engine)
        except ProRandConvError:
            return
        applied.append(names)
        expected = functional.apply(x.double(), edited, engine="reference")
        torch.testing.assert_close(actual.double(), expected, atol=1e-4, rtol=1e-3)

    check()
    assert len(applied) > 10


@pytest.mark.parametrize("number", [np.int64(4), torch.tensor(4)])
def test_repeats_may_be_any_integer(number):
    assert replace(BATCH, repeats=number).repeats == 4
    assert replace(SAMPLE, repeats=(number, 1)).repeats == (4, 1)


@pytest.mark.parametrize("engine", ["auto", "eager"])
def test_edited_offsets_are_used_to_their_full_reach(engine):
    """Offsets of up to a pixel allow a short cut that must not be taken with larger ones."""
    x = torch.randn(6, 3, 32, 32)
    draw = ProRandConv(repeats=1).draw(x)
    draw = replace(draw, offsets=30 * draw.offsets.dense())
    expected = functional.apply(x, draw, engine="reference")
    torch.testing.assert_close(
        functional.apply(x, draw, engine=engine), expected, atol=1e-4, rtol=0
    )


class TestOptionsOfApplying:
    """All that applying needs is in the draw."""

    OPTIONS = (
        {"padding": "reflect"},
        {"contrast": ("tanh",)},
        {"contrast": (), "bound": "standardise"},
        {"output": "pixels", "mean": (0.4, 0.5, 0.6), "std": 0.2},
    )

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_every_way_of_applying_a_draw_makes_the_same_image(self, options, mode):
        augment = ProRandConv(mode=mode, repeats=2, offsets=(2.0, 2.0), **options)
        draw = augment.draw(X)
        expected = augment(X, draw=draw)
        plain = ProRandConv(repeats=2, offsets=(2.0, 2.0))(X, draw=replace(draw, options=Options()))
        assert not torch.equal(expected, plain), "the options matter"
        assert torch.equal(functional.apply(X, draw), expected)
        assert torch.equal(ProRandConv()(X, draw=draw), expected)
        assert torch.equal(RandConv()(X, draw=draw), expected)
        assert torch.equal(augment(X, draw=Draw.from_json(draw.to_json())), expected)


class TestFields:
    """A draw keeps its offsets as a small field."""

    def test_are_small_whatever_the_size(self):
        x = torch.randn(1, 3, 224, 224)
        augment = ProRandConv()
        draw = augment.draw(x)
        augment(x, draw=draw)
        assert draw.offsets.coefficients.numel() == 18 * 81
        assert len(pickle.dumps(draw)) < 15_000

    @pytest.mark.parametrize(
        "draw", [BATCH, SAMPLE, LAYERS, MIXED], ids=["p", "own", "layers", "mix"]
    )
    def test_repr_is_small_and_makes_nothing(self, draw, monkeypatch):
        monkeypatch.delattr(Field, "rows")
        assert len(repr(draw)) < 900
        assert f"repeats={draw.repeats}" in repr(draw)

    @pytest.mark.parametrize("alpha", [3.0, 10.0])
    @pytest.mark.parametrize("mode", ["batch", "sample"])
    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
    def test_a_copy_has_the_same_bits(self, alpha, mode, copied):
        augment = ProRandConv(alpha=alpha, mode=mode)
        draw = augment.draw(X)
        assert torch.equal(copied(draw).offsets.dense(), draw.offsets.dense())
        assert torch.equal(augment(X, draw=copied(draw)), augment(X, draw=draw))


class TestOneImage:
    """draw[n] is the draw of one image."""

    @pytest.mark.parametrize("p", [1.0, 0.5])
    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_makes_of_the_image_what_it_is_in_the_batch(self, mode, p):
        x = torch.randn(4, 3, 12, 12)
        augment = ProRandConv(mode=mode, p=p)
        draw = augment.draw(x)
        together = augment(x, draw=draw)
        for n in range(4):
            torch.testing.assert_close(augment(x[n], draw=draw[n]), together[n], atol=1e-5, rtol=0)

    def test_shares_nothing_with_the_draw(self):
        one, before = SAMPLE[1], SAMPLE.weight.clone()
        for part in (one.weight, one.gamma, one.beta, one.offsets.coefficients):
            part.zero_()
        assert torch.equal(SAMPLE.weight, before)
        assert SAMPLE.offsets.coefficients.abs().min() > 0 or SAMPLE.gamma.abs().min() > 0

    @pytest.mark.parametrize("n", [2, -1, 0.5])
    def test_of_no_image_is_an_index_error(self, n):
        with pytest.raises(IndexError, match="expected an integer from 0 to 1"):
            SAMPLE[n]

    def test_all_of_them_can_be_listed(self):
        assert [own.repeats for own in SAMPLE] == [2, 2]


class TestResized:
    """The same style at another size."""

    @pytest.mark.parametrize("mode", ["batch", "sample"])
    def test_offsets_grow_with_the_image_and_the_rest_stays(self, mode):
        draw = ProRandConv(mode=mode, p=0.5).draw(torch.zeros(2, 3, 12, 16))
        grown = draw.resized((24, 32))
        assert grown.size == (24, 32)
        torch.testing.assert_close(
            grown.offsets.dense()[..., ::2, ::2], 2 * draw.offsets.dense(), atol=1e-6, rtol=0
        )
        assert grown.repeats == draw.repeats
        for name in ("weight", "gamma", "beta", "selected", "batch_size", "options"):
            assert getattr(grown, name) is getattr(draw, name)

    def test_a_smooth_image_and_its_thumbnail_get_the_same_style(self):
        augment = ProRandConv(1, repeats=2, offsets=(2.0, 2.0), padding="replicate")
        y, x = torch.meshgrid(*2 * [(torch.arange(64) + 0.5) / 64], indexing="ij")
        photo = torch.stack(((3 * x).sin(), (4 * y).cos(), (3 * x + 2 * y).sin()))
        thumbnail = torch.nn.functional.avg_pool2d(photo, 2)
        draw = augment.draw(photo, torch.Generator().manual_seed(3))
        large = torch.nn.functional.avg_pool2d(augment(photo, draw=draw), 2)
        small = augment(thumbnail, draw=draw.resized((32, 32)))
        assert (large - small).abs().mean() < 0.02 * small.std()

    def test_a_draw_without_offsets_is_for_any_size(self):
        draw = ProRandConv(offsets=None).draw(X)
        assert draw.resized((20, 30)).size == (20, 30)
        assert torch.equal(draw.resized((20, 30)).weight, draw.weight)

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


def test_how_far_offsets_reach_goes_with_the_draw_to_a_device():
    assert BATCH.to("meta").offsets.bound() == BATCH.offsets.bound()
    assert ProRandConv().draw(X.to("meta")).offsets.bound() <= 1


@pytest.mark.parametrize(
    ("call", "got"),
    [
        (lambda: ProRandConv()(X, draw={"repeats": 1}), "dict"),
        (lambda: functional.apply(X, {"repeats": 1}), "dict"),
        (lambda: functional.apply(X, None), "NoneType"),
        (lambda: functional.displacement(X), "Tensor"),
    ],
)
def test_what_is_no_draw_raises_an_error(call, got):
    with pytest.raises(ProRandConvError, match=f"^draw: got '{got}', expected "):
        call()


def test_to_moves_every_tensor_but_the_selection():
    draw = BATCH.to("meta")
    assert {part.device.type for part in draw.parts().values()} == {"meta"}
    assert draw.selected.device.type == "cpu"
    assert BATCH.to("cpu") is BATCH
    assert BATCH.to(dtype=torch.float64).offsets.dtype == torch.float64


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("mode", ["batch", "sample"])
def test_a_draw_is_on_the_images_device(count, mode):
    images = torch.empty(count, 3, 8, 8, device="meta")
    for augment in (ProRandConv(mode=mode), RandConv(mode=mode, offsets="auto", mix=True)):
        parts = augment.draw(images).parts().values()
        assert {part.device.type for part in parts} == {"meta"}


def test_a_draw_made_in_inference_mode_serves_gradients():
    with torch.inference_mode():
        draw = ProRandConv(repeats=2).draw(X)
        loaded = Draw.from_json(draw.to_json())
    for own in (draw, loaded):
        x = X.clone().requires_grad_()
        functional.apply(x, own).sum().backward()
        assert x.grad.isfinite().all()
