"""Copies made again from the manifest, against those that are stored."""

import numpy as np
import pytest
from PIL import Image

from prorandconv.copies.folder import Job, make_copies
from prorandconv.copies.remake import remade, same_pixels
from prorandconv.copies.settings import Operator, Settings
from prorandconv.lab.errors import DataError

from .conftest import noise


def read(path):
    with Image.open(path) as image:
        return np.array(image)


@pytest.fixture
def made(photos, tmp_path):
    """Copies of pictures and moved masks, of many kinds."""
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(noise(20, 30)).save(photos / "turned.jpg", exif=exif)
    masks = tmp_path / "masks"
    for path in photos.rglob("*.*"):
        target = (masks / path.relative_to(photos)).with_suffix(".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as image:
            width, height = (30, 20)[::-1] if path.name == "turned.jpg" else image.size
        Image.fromarray(noise(height, width, 1) % 3).save(target)
    settings = Settings(
        copies=2,
        include_originals=True,
        size=12,
        labels="move",
        operator=Operator(offsets=(0.5, 2.0)),
    )
    job = Job(photos, tmp_path / "out", masks, settings)
    assert make_copies(job, job.tree(), 1).problems == {}
    return tmp_path / "out"


def test_every_picture_and_mask_equals_the_stored_one(made, tmp_path):
    paths = list(made.rglob("*-*.png"))
    assert len(paths) == 5 * 3 * 2
    for path in paths:
        (tmp_path / "again.png").write_bytes(remade(path))
        assert np.array_equal(read(tmp_path / "again.png"), read(path)), path
        assert same_pixels(path, remade(path))


def test_the_stored_draw_decides_and_not_the_seed(made, monkeypatch):
    path = made / "images" / "cats" / "a-1.png"

    def refuse(*arguments):
        raise AssertionError("drawn anew")

    monkeypatch.setattr("prorandconv.transforms.ProRandConv.draw", refuse)
    assert same_pixels(path, remade(path))


def test_one_that_is_missing_is_made_too(made):
    path = made / "images" / "cats" / "a-1.png"
    stored = path.read_bytes()
    path.unlink()
    assert remade(path) == stored


def test_another_picture_differs(made):
    one, other = (made / "images" / "cats" / f"a-{n}.png" for n in (1, 2))
    assert not same_pixels(one, remade(other))


def test_a_folder_that_was_moved_is_named(made, photos, tmp_path):
    path = made / "images" / "cats" / "a-1.png"
    photos.rename(tmp_path / "moved")
    with pytest.raises(DataError, match=r"a\.png: no such file; give its folder with --source"):
        remade(path)
    assert same_pixels(path, remade(path, source=tmp_path / "moved"))


def test_an_original_that_has_changed_is_refused(made, photos):
    Image.fromarray(noise(seed=5)).save(photos / "cats" / "a.png")
    with pytest.raises(DataError, match=r"cats/a\.png: has changed since the copy was made"):
        remade(made / "images" / "cats" / "a-1.png")


def test_a_file_without_manifest_is_refused(photos):
    with pytest.raises(DataError, match=r"is in no folder with an augment\.jsonl"):
        remade(photos / "cats" / "a.png")
