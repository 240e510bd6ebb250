"""The copies of one picture: what they are made of, and that files are never overwritten."""

import io
import json

import numpy as np
import pytest
import torch
from PIL import Image

from prorandconv import Draw
from prorandconv.copies.pictures import copies_of, store
from prorandconv.copies.settings import Operator, Settings
from prorandconv.copies.tree import Picture
from prorandconv.functional import apply
from prorandconv.lab.errors import DataError

from .conftest import noise


@pytest.fixture
def picture(tmp_path):
    Image.fromarray(noise()).save(tmp_path / "a.png")
    return Picture("cats/a.png", tmp_path / "a.png", "cats/a")


def pixels(copy, target=None):
    with Image.open(io.BytesIO(copy.files[target or copy.entry["picture"]])) as image:
        return np.array(image)


def test_each_is_the_picture_under_its_own_draw(picture):
    x = torch.from_numpy(noise()).permute(2, 0, 1) / 127.5 - 1
    copies = list(copies_of(picture, Settings(copies=3)))
    for copy in copies:
        params = Draw.from_json(json.dumps(copy.entry["draw"]))
        y = apply(x, params)
        expected = y.add(1).mul(127.5).round().byte().permute(1, 2, 0)
        assert np.array_equal(pixels(copy), expected)
        assert copy.entry["repeats"] == params.repeats
    assert [copy.entry["picture"] for copy in copies] == [f"cats/a-{n}.png" for n in (1, 2, 3)]
    assert len({copy.files[copy.entry["picture"]] for copy in copies}) == 3


def test_draws_depend_on_seed_name_and_copy_and_on_nothing_else(picture):
    def draws(name="cats/a.png", **options):
        named = Picture(name, picture.path, "x")
        return [copy.entry["draw"] for copy in copies_of(named, Settings(**options))]

    assert draws(copies=2) == draws(copies=4)[:2]
    for other in (draws(copies=2, seed=1), draws("cats/b.png", copies=2)):
        assert all(one not in draws(copies=2) for one in other)


def test_options_of_the_operator_reach_the_draw(picture):
    operator = Operator(kernel_size=5, repeats=2, offsets="none", padding="reflect")
    (copy,) = copies_of(picture, Settings(copies=1, operator=operator))
    draw = copy.entry["draw"]
    assert draw["weight"]["shape"] == [3, 3, 5, 5]
    assert (draw["repeats"], draw["offsets"]) == (2, None)
    assert draw["options"]["padding"] == "reflect"


def test_copy_0_is_the_picture_itself(picture):
    first, _ = copies_of(picture, Settings(copies=1, include_originals=True))
    assert first.entry["picture"] == "cats/a-0.png"
    assert (first.entry["repeats"], first.entry["draw"]) == (0, None)
    assert np.array_equal(pixels(first), noise())


@pytest.mark.parametrize(("grey", "shape"), [("keep", (14, 18)), ("colour", (14, 18, 3))])
def test_grey_stays_grey_or_becomes_coloured(tmp_path, grey, shape):
    Image.fromarray(noise(channels=1)).save(tmp_path / "a.png")
    picture = Picture("a.png", tmp_path / "a.png", "a")
    (copy,) = copies_of(picture, Settings(copies=1, grey=grey))
    assert pixels(copy).shape == shape
    if grey == "colour":
        assert np.ptp(pixels(copy), axis=2).max() > 0


def test_pictures_are_resized_before_they_are_augmented(picture):
    (copy,) = copies_of(picture, Settings(copies=1, size=7))
    assert copy.entry["size"] == [7, 9]
    assert copy.entry["draw"]["size"] == [7, 9]
    assert pixels(copy).shape == (7, 9, 3)


def test_a_picture_that_webp_does_not_hold_is_refused_by_name(tmp_path):
    Image.new("L", (16_384, 1)).save(tmp_path / "a.png")
    picture = Picture("a.png", tmp_path / "a.png", "a")
    with pytest.raises(DataError, match=r"a\.png: has a side of 16,384 pixels"):
        list(copies_of(picture, Settings(copies=1, format="webp")))


class TestMasks:
    MOVING = Operator(shared_offsets=True, offsets=(3.0, 3.0), repeats=4)

    @pytest.fixture
    def masked(self, picture, tmp_path):
        Image.fromarray(noise(channels=1, seed=3) % 4).save(tmp_path / "mask.png")
        return Picture("a.png", picture.path, "a", (tmp_path / "mask.png", "a.png"))

    def test_stay_where_they_are(self, masked):
        (copy,) = copies_of(masked, Settings(copies=1, operator=self.MOVING))
        assert list(copy.files) == ["images/a-1.png", "masks/a-1.png"]
        assert np.array_equal(pixels(copy, "masks/a-1.png"), noise(channels=1, seed=3) % 4)

    def test_or_move_and_what_comes_from_outside_is_ignored(self, masked):
        settings = Settings(copies=1, labels="move", ignore_index=9, operator=self.MOVING)
        (copy,) = copies_of(masked, settings)
        moved = pixels(copy, "masks/a-1.png")
        assert set(np.unique(moved)) == {0, 1, 2, 3, 9}

    def test_that_do_not_fit_are_refused_with_both_sizes(self, masked, tmp_path):
        Image.new("L", (14, 18)).save(tmp_path / "mask.png")
        with pytest.raises(DataError, match=r"mask\.png: is 18 × 14 pixels .* is 14 × 18"):
            list(copies_of(masked, Settings()))

    def test_are_resized_with_their_pictures(self, masked):
        (copy,) = copies_of(masked, Settings(copies=1, size=7))
        assert pixels(copy, "masks/a-1.png").shape == (7, 9)


class TestStore:
    def test_writes_with_folders(self, tmp_path):
        store(tmp_path, {"x/y.png": b"1"})
        assert (tmp_path / "x" / "y.png").read_bytes() == b"1"

    def test_leaves_the_same_content_alone(self, tmp_path):
        (tmp_path / "a").write_bytes(b"1")
        before = (tmp_path / "a").stat().st_ino
        store(tmp_path, {"a": b"1"})
        assert (tmp_path / "a").stat().st_ino == before

    def test_never_overwrites(self, tmp_path):
        (tmp_path / "a").write_bytes(b"mine")
        with pytest.raises(DataError, match="is there already, with other content"):
            store(tmp_path, {"a": b"1"})
        assert (tmp_path / "a").read_bytes() == b"mine"
