"""Draws that the playground makes: their statistics, their scales, and the files of them."""

import base64
import json

import numpy as np
import pytest
import torch

import prorandconv as prc
from prorandconv.lab.paper import rows_of
from prorandconv.transforms import offset_range

PAPER = {
    "method": "pro",
    "k": 3,
    "L": 10,
    "weights": "same",
    "b_w": 0,
    "padding": "zeros",
    "smoothing": True,
    "sigma_g": 1,
    "offsets": True,
    "b_delta": None,
    "alpha": 10,
    "standardise": True,
    "affine": True,
    "tanh": True,
    "sigma_gamma": 0.5,
    "sigma_beta": 0.5,
}


@pytest.fixture
def drawn(playground):
    """A maker of draws by the playground, read by Python."""

    def make(*requests):
        texts = playground.ask(
            [
                {"task": "drawn", "settings": PAPER | settings, "seed": seed, "size": size}
                for settings, seed, size in requests
            ]
        )
        return [prc.Draw.from_json(text) for text in texts]

    return make


def test_fields_have_zero_mean_and_one_deviation_within_the_bound(drawn):
    for size in ((24, 24), (20, 31), (45, 16)):
        for alpha in (10, 3):
            (draw,) = drawn(({"alpha": alpha, "b_delta": 2.0}, 3, size))
            assert draw.offsets.shape == (18, *size)
            assert draw.offsets.dense().mean((-2, -1)).abs().max() < 1e-5
            deviation = draw.offsets.dense().std((-2, -1), correction=0)
            assert deviation.max() - deviation.min() < 1e-5
            assert 0.01 <= deviation.mean() <= 2.0


@pytest.mark.parametrize(("alpha", "share"), [(10, (0.9, 0.99)), (3, (0.2, 0.7))])
def test_fields_have_the_spectrum_of_pythons(drawn, alpha, share):
    """Share of the variance in the four waves of one cycle, over many fields."""

    def lowest(fields):
        power = torch.fft.fft2(fields).abs().square()
        one_cycle = power[:, 0, 1] + power[:, 0, -1] + power[:, 1, 0] + power[:, -1, 0]
        return float((one_cycle / power.sum((-2, -1))).mean())

    draws = drawn(*(({"alpha": alpha}, seed, (32, 32)) for seed in range(30)))
    ours = lowest(torch.cat([draw.offsets.dense() for draw in draws]))
    theirs = lowest(prc.gaussian_random_field(540, (32, 32), alpha, dtype=torch.float64))
    assert share[0] < theirs < share[1]
    assert ours == pytest.approx(theirs, abs=0.02)


def test_weights_gamma_and_beta_have_the_papers_deviations(drawn):
    draw = drawn(*(({"smoothing": False, "offsets": False}, s, (8, 8)) for s in range(400)))
    weight, gamma, beta = (
        torch.stack([getattr(p, name) for p in draw]) for name in ("weight", "gamma", "beta")
    )
    assert weight.std() == pytest.approx(27**-0.5, rel=0.03)
    assert gamma.std() == pytest.approx(0.5, rel=0.06)
    assert beta.std() == pytest.approx(0.5, rel=0.06)
    assert abs(torch.corrcoef(torch.stack((gamma.flatten(), beta.flatten())))[0, 1]) < 0.1


def test_one_setting_changes_its_own_part_only(drawn):
    size = (16, 16)
    usual, gamma, offsets, wide = drawn(
        ({}, 5, size),
        ({"sigma_gamma": 1.0}, 5, size),
        ({"b_delta": 0.4}, 5, size),
        ({"k": 5, "smoothing": False}, 5, size),
    )
    assert torch.allclose(gamma.gamma, 2 * usual.gamma)
    assert torch.equal(gamma.weight, usual.weight)
    assert torch.equal(gamma.offsets.dense(), usual.offsets.dense())
    assert torch.equal(offsets.weight, usual.weight)
    ratio = offsets.offsets.dense() / usual.offsets.dense()
    assert torch.allclose(ratio, ratio.flatten()[0], rtol=1e-4)
    (bare,) = drawn(({"smoothing": False}, 5, size))
    assert torch.allclose(wide.weight[..., 1:4, 1:4], bare.weight * 3 / 5)


def test_offsets_follow_the_pictures_size_like_pythons(playground):
    sizes = [(32, 32), (100, 150), (224, 224)]
    requests = [{"task": "bound", "height": h, "width": w} for h, w in sizes]
    assert playground.ask(requests) == [pytest.approx(offset_range(*size)[1]) for size in sizes]


def test_presets_are_the_rows_of_the_component_table(playground):
    calls = playground.ask([{"task": "presets"}])[0]
    rows = [row for row in rows_of("Table 8") if row.method != "erm"]
    assert len(calls) == len(rows) == 15
    for call, row in zip(calls, rows, strict=True):
        ours = eval(call, {"prc": prc})
        if row.method == "randconv":
            theirs = prc.RandConv((3,), identity=0.0, **row.options)
        else:
            bare = {"smoothing": None, "offsets": None, "contrast": False}
            options = row.options | (bare if row.method == "progressive" else {})
            theirs = prc.ProRandConv(**options)
        assert repr(ours) == repr(theirs), row.name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "its format is not"),
        ({"version": 2}, "its version is 2, and this page reads 1"),
        ({"weight": None}, "it is not a whole draw file"),
        ({"options": {}}, "an option is missing"),
        ({"repeats": 0}, "it leaves pictures as they are"),
        ({"beta": None}, "it has only one of gamma and beta"),
        ({"size": [10, 12]}, "its offsets do not fit"),
    ],
    ids=str,
)
def test_draw_files_that_cannot_be_used_are_refused(playground, change, words):
    request = {"task": "drawn", "settings": PAPER, "seed": 1, "size": [16, 16]}
    file = json.loads(playground.ask([request])[0])
    (answer,) = playground.ask([{"task": "refusal", "text": json.dumps(file | change)}])
    assert words in answer


def test_draw_for_grey_images_is_refused(playground):
    text = prc.ProRandConv().draw(torch.zeros(1, 8, 8)).to_json()
    (answer,) = playground.ask([{"task": "refusal", "text": text}])
    assert answer == "it is for 1 channel(s), and pictures have 3"


@pytest.mark.parametrize("alpha", [3.0, 10.0])
def test_of_one_draw_per_image_the_first_is_applied(playground, picture, alpha):
    draw = prc.ProRandConv(mode="sample", alpha=alpha).draw(torch.zeros(4, 3, 12, 14))
    several, first = draw.to_json(), draw[0].to_json()
    ours, expected = playground.applied([(text, picture(12, 14)) for text in (several, first)])
    assert np.array_equal(ours, expected)


def test_files_hold_little_endian_float32(playground):
    request = {"task": "drawn", "settings": PAPER, "seed": 1, "size": [16, 16]}
    file = json.loads(playground.ask([request])[0])
    numbers = np.frombuffer(base64.b64decode(file["gamma"]["data"]), "<f4")
    assert (file["gamma"]["dtype"], file["gamma"]["shape"]) == ("float32", [3])
    assert 0.01 < np.abs(numbers).max() < 3
