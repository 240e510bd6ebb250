"""The playground's operator against the reference, on draws made by Python."""

from itertools import product

import numpy as np
import pytest
import torch

import prorandconv as prc

SIZES = ((32, 32), (33, 47), (64, 40), (81, 81))
PADDINGS = ("zeros", "reflect", "replicate")


def golden(transform, size):
    """A draw of Python's as a file."""
    return transform.draw(torch.zeros(3, *size), torch.Generator().manual_seed(size[0])).to_json()


def differences(playground, by_python, cases):
    """The largest difference of each case."""
    ours = playground.applied(cases)
    references = [by_python(*case) for case in cases]
    return [np.abs(a - b).max() for a, b in zip(ours, references, strict=True)]


def test_golden_draws_agree_with_the_reference(playground, by_python, picture):
    cases = {
        (size, padding, weights, offsets): (
            golden(
                prc.ProRandConv(repeats=5, padding=padding, weights=weights, offsets=offsets), size
            ),
            picture(*size),
        )
        for size, padding, weights, offsets in product(
            SIZES, PADDINGS, ("same", "different"), ("auto", None)
        )
    }
    found = dict(zip(cases, differences(playground, by_python, list(cases.values())), strict=True))
    for case, difference in found.items():
        print(*case, f"{difference:.1e}")
    assert len(found) == 48
    assert max(found.values()) < 1e-4


@pytest.mark.parametrize(
    "options",
    [
        {"contrast": False},
        {"contrast": False, "bound": "standardise"},
        {"contrast": ("standardise",)},
        {"contrast": ("affine", "tanh")},
        {"contrast": ("tanh",)},
        {"output": "pixels", "mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.25)},
        {"contrast": False, "mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.25)},
        {"kernel_size": 1},
        {"kernel_size": 7},
        {"smoothing": None, "gamma_std": 2.0},
        {"repeats": 1},
    ],
    ids=str,
)
def test_options_agree_with_the_reference(playground, by_python, picture, options):
    text = golden(prc.ProRandConv(**{"repeats": 3, **options}), (37, 30))
    (difference,) = differences(playground, by_python, [(text, picture(37, 30))])
    assert difference < 1e-4


@pytest.mark.parametrize("padding", PADDINGS)
def test_offsets_of_many_pixels_agree_with_the_reference(playground, by_python, picture, padding):
    text = golden(prc.ProRandConv(repeats=2, offsets=(60.0, 60.0), padding=padding), (20, 31))
    (difference,) = differences(playground, by_python, [(text, picture(20, 31))])
    assert difference < 1e-4


@pytest.mark.parametrize("mix", [False, True])
def test_randconv_agrees_with_the_reference(playground, by_python, picture, mix):
    text = golden(prc.RandConv((5,), identity=0.0, mix=mix), (41, 33))
    (difference,) = differences(playground, by_python, [(text, picture(41, 33))])
    assert difference < 1e-4


@pytest.mark.parametrize("size", [(24, 24), (25, 25), (24, 17)], ids=str)
def test_rough_fields_are_those_that_python_makes(playground, by_python, picture, size):
    """Offsets with alpha below 6 have all modes of a square."""
    text = golden(prc.ProRandConv(repeats=3, alpha=3.0, offsets=(0.4, 0.4)), size)
    (difference,) = differences(playground, by_python, [(text, picture(*size))])
    assert difference < 1e-4
