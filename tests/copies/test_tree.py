"""What is found in a folder, and what copies are called."""

import pytest
from PIL import Image

from prorandconv.copies.tree import pictures_in, with_masks
from prorandconv.lab.errors import DataError


def touch(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def stems(root):
    return {picture.name: picture.stem for picture in pictures_in(root).pictures}


def test_pictures_are_found_at_any_depth_and_others_are_named(tmp_path):
    touch(tmp_path, "b.JPG", "x/y/a.png", "notes.txt", "x/Thumbs.db", "labels.csv")
    tree = pictures_in(tmp_path)
    assert [picture.name for picture in tree.pictures] == ["b.JPG", "x/y/a.png"]
    assert tree.left_out == ("labels.csv", "notes.txt", "x/Thumbs.db")
    assert tree.folders == 2


def test_hidden_files_and_folders_are_not_data(tmp_path):
    touch(tmp_path, "a.png", ".b.png", "._a.png", ".cache/c.png", ".DS_Store")
    tree = pictures_in(tmp_path)
    assert [picture.name for picture in tree.pictures] == ["a.png"]
    assert tree.left_out == ()


def test_names_are_kept_without_their_extension(tmp_path):
    touch(tmp_path, "x/a.png", "b.v2.jpg")
    assert stems(tmp_path) == {"b.v2.jpg": "b.v2", "x/a.png": "x/a"}


def test_files_that_differ_in_extension_or_case_only_keep_it(tmp_path):
    touch(tmp_path, "a.jpg", "a.png", "B.png", "b.jpg", "c.png", "x/a.png")
    assert stems(tmp_path) == {
        "B.png": "B.png",
        "a.jpg": "a.jpg",
        "a.png": "a.png",
        "b.jpg": "b.jpg",
        "c.png": "c",
        "x/a.png": "x/a",
    }


def test_a_kept_extension_does_not_meet_another_name(tmp_path):
    touch(tmp_path, "a.jpg", "a.png", "a.jpg.png")
    assert stems(tmp_path) == {"a.jpg": "a.jpg", "a.png": "a.png", "a.jpg.png": "a.jpg.png"}


def test_copies_of_names_that_end_in_numbers_stay_apart(tmp_path):
    touch(tmp_path, "a.png", "a-1.png", "a-1-1.png")
    pictures = pictures_in(tmp_path).pictures
    targets = [picture.target(copy, "png") for picture in pictures for copy in range(12)]
    assert len(set(targets)) == len(targets)


def test_links_to_pictures_and_folders_are_followed(tmp_path):
    touch(tmp_path, "elsewhere/a.png", "photos/b.png")
    (tmp_path / "photos" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "photos" / "c.png").symlink_to(tmp_path / "photos" / "b.png")
    assert list(stems(tmp_path / "photos")) == ["b.png", "c.png", "more/a.png"]


def test_a_link_to_a_folder_above_it_is_refused_by_name(tmp_path):
    touch(tmp_path, "x/y/a.png")
    (tmp_path / "x" / "y" / "loop").symlink_to(tmp_path / "x")
    with pytest.raises(DataError, match=r"x/y/loop: a link to a folder that it is in"):
        pictures_in(tmp_path)


def test_a_folder_without_pictures_is_refused(tmp_path):
    touch(tmp_path, "notes.txt")
    with pytest.raises(DataError, match=r"holds no pictures; .*\.png"):
        pictures_in(tmp_path)


class TestMasks:
    @pytest.fixture
    def roots(self, tmp_path):
        touch(tmp_path / "photos", "x/a.jpg", "x/b.jpg")
        touch(tmp_path / "masks", "x/a.png", "x/b.tif", "x/unused.png")
        return tmp_path / "photos", tmp_path / "masks"

    def test_have_the_name_of_their_picture_and_any_extension(self, roots):
        photos, masks = roots
        tree = with_masks(pictures_in(photos), masks)
        assert [picture.mask for picture in tree.pictures] == [
            (masks / "x/a.png", "x/a.png"),
            (masks / "x/b.tif", "x/b.tif"),
        ]
        first = tree.pictures[0]
        assert (first.target(2, "webp"), first.mask_target(2)) == (
            "images/x/a-2.webp",
            "masks/x/a-2.png",
        )

    def test_one_that_is_missing_is_refused_by_its_picture(self, roots):
        photos, masks = roots
        (masks / "x/b.tif").unlink()
        with pytest.raises(DataError, match=r"no mask for 1 of 2 pictures, such as x/b\.jpg"):
            with_masks(pictures_in(photos), masks)

    def test_several_for_one_picture_are_refused(self, roots):
        photos, masks = roots
        Image.new("L", (2, 2)).save(masks / "x/b.png")
        with pytest.raises(DataError, match=r"several masks for x/b\.jpg: x/b\.png, x/b\.tif"):
            with_masks(pictures_in(photos), masks)
