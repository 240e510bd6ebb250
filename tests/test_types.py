"""What type checkers know of the library: ``make lint`` checks this file, pytest runs it."""

from typing import Any

import pytest
import torch
from torch import Tensor
from typing_extensions import assert_type

import prorandconv as prc


def test_a_tensor_gives_a_tensor() -> None:
    x = torch.randn(2, 3, 8, 8)
    augment, predecessor = prc.ProRandConv(), prc.RandConv()
    assert isinstance(assert_type(augment(x), Tensor), Tensor)
    assert isinstance(assert_type(augment(x, generator=torch.Generator()), Tensor), Tensor)
    assert isinstance(assert_type(predecessor(x, draw=predecessor.draw(x)), Tensor), Tensor)


def test_a_draw_has_the_type_of_its_transform() -> None:
    x = torch.randn(2, 3, 8, 8)
    pro = assert_type(prc.ProRandConv().draw(x), prc.Draw)
    rand = assert_type(prc.RandConv().draw(x), prc.Draw)
    assert (type(pro), type(rand)) == (prc.Draw, prc.Draw)


def test_a_sample_may_be_of_any_type() -> None:
    sample: dict[str, Any] = {"image": torch.randn(3, 8, 8), "label": 3}
    assert assert_type(prc.ProRandConv()(sample), Any)["label"] == 3


def test_values_of_options_are_checked() -> None:
    # an unused "type: ignore" is an error: type checkers must refuse this too
    with pytest.raises(prc.ProRandConvError, match=r"^padding: "):
        prc.ProRandConv(padding="wrap")  # type: ignore[arg-type]
