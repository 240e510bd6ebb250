"""Masks of every kind: their labels are kept or moved, and never blended."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from prorandconv import ProRandConv
from prorandconv.copies.pictures import Mask, read_mask
from prorandconv.functional import warp_labels
from prorandconv.lab.errors import DataError

from .conftest import noise

LABELS = noise(channels=1) % 5


def saved(path, mode):
    if mode == "I;16":
        image = Image.fromarray(LABELS.astype(np.uint16) * 1000)
    elif mode == "P":
        image = Image.fromarray(LABELS)
        image.putpalette(bytes(range(15)))
    elif mode == "RGB":
        image = Image.fromarray(noise())
    elif mode == "1":
        image = Image.fromarray(LABELS > 2)
    else:
        image = Image.fromarray(LABELS)
    assert image.mode == mode
    image.save(path)
    return np.array(image)


def opened(content):
    with Image.open(io.BytesIO(content)) as image:
        image.load()
        return image


@pytest.mark.parametrize("mode", ["1", "L", "P", "I;16", "RGB"])
class TestKinds:
    def test_are_stored_as_they_were(self, tmp_path, mode):
        expected = saved(tmp_path / "a.png", mode)
        image = opened(read_mask(tmp_path / "a.png").encoded())
        assert image.mode == mode
        assert np.array_equal(np.array(image), expected)

    def test_move_as_the_library_moves_labels(self, tmp_path, mode):
        stored = saved(tmp_path / "a.png", mode)
        params = ProRandConv(shared_offsets=True, offsets=(0.3, 0.3)).draw(torch.zeros(3, 14, 18))
        image = opened(read_mask(tmp_path / "a.png").moved(params, 7).encoded())
        if mode == "1":  # one bit has no number for what comes from outside
            assert image.mode == "L"
            assert {7} < set(np.unique(image)) <= {0, 1, 7}
            stored = stored.astype(np.uint8)
        labels = torch.from_numpy(stored if stored.ndim == 2 else stored.transpose(2, 0, 1).copy())
        expected = warp_labels(labels, params, ignore_index=7).numpy()
        found = np.array(image)
        assert np.array_equal(found if found.ndim == 2 else found.transpose(2, 0, 1), expected)
        assert not np.array_equal(found, stored)


def test_a_palette_keeps_its_colours(tmp_path):
    saved(tmp_path / "a.png", "P")
    image = opened(read_mask(tmp_path / "a.png").encoded())
    assert image.getpalette()[:15] == list(range(15))


def test_a_label_beyond_a_short_palette_is_stored_as_it_is(tmp_path):
    mask = Mask(np.array([[[0, 1], [2, 255]]], np.uint8), palette=bytes(range(9)))
    assert np.array(opened(mask.encoded())).tolist() == [[0, 1], [2, 255]]


def test_resizing_makes_no_new_labels():
    mask = Mask(np.array([[[0, 0, 9, 9], [0, 0, 9, 9]]], np.uint8))
    assert mask.resized(1).values.tolist() == [[[0, 9]]]
    assert mask.resized(4).values.tolist() == [[[0, 0, 0, 0, 9, 9, 9, 9]] * 4]


def test_exif_rotation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(LABELS).save(tmp_path / "a.png", exif=exif)
    assert np.array_equal(read_mask(tmp_path / "a.png").values[0], np.rot90(LABELS, -1))


@pytest.mark.parametrize(
    ("name", "mode", "told"),
    [
        ("a.jpg", "L", "a JPEG, which changes labels"),
        ("a.png", "RGBA", "a mask of kind 'RGBA'"),
        ("a.tif", "I", "a mask of kind 'I'"),
        ("a.tif", "F", "a mask of kind 'F'"),
    ],
)
def test_kinds_that_do_not_keep_labels_are_refused_by_name(tmp_path, name, mode, told):
    Image.new(mode, (4, 4)).save(tmp_path / name)
    with pytest.raises(DataError, match=f"{name}: {told}"):
        read_mask(tmp_path / name)
