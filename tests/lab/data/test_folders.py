"""Domains that are folders: names, and what is wrong with them."""

import os
import shutil
from pathlib import Path

import pytest

from prorandconv.lab.data import DataError
from prorandconv.lab.data.folders import images_in, normalised_name


def test_spellings_differ_in_case_and_separators_only():
    assert (
        normalised_name("Real World")
        == normalised_name("real_world")
        == normalised_name("Real-World")
    )
    assert normalised_name("art") != normalised_name("artpainting")


def test_a_missing_root_is_named(open_benchmark, tmp_path):
    with pytest.raises(DataError, match="nowhere: no such folder; expected <domain>"):
        open_benchmark("folder", tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"'photo' is missing: looked for .*nowhere"):
        open_benchmark("pacs", tmp_path / "nowhere").load("photo", "test")


def test_a_missing_domain_is_named_and_left_out_of_what_is_present(open_benchmark, pacs):
    shutil.rmtree(pacs / "pacs" / "sketch")
    found = open_benchmark("pacs", pacs)
    assert found.present() == ("art", "cartoon", "photo")
    assert found.missing() == ("sketch",)
    with pytest.raises(DataError, match="domain 'sketch' is missing"):
        found.load("sketch", "test")


def test_an_empty_class_folder_is_named(open_benchmark, pacs):
    for image in (pacs / "pacs" / "photo" / "horse").iterdir():
        image.unlink()
    with pytest.raises(DataError, match="photo/horse: a class folder without images; fill"):
        open_benchmark("pacs", pacs).load("photo", "test")


def test_a_class_missing_in_one_domain_is_named(open_benchmark, pacs):
    shutil.rmtree(pacs / "pacs" / "photo" / "horse")
    with pytest.raises(DataError, match="photo: no folder for class 'horse'; every domain"):
        open_benchmark("pacs", pacs).load("photo", "test")


def test_an_unknown_class_folder_is_named_with_the_nearest(open_benchmark, pacs):
    (pacs / "pacs" / "photo" / "horse").rename(pacs / "pacs" / "photo" / "horses")
    with pytest.raises(DataError, match=r"photo/horses: not one of .*did you mean 'horse'"):
        open_benchmark("pacs", pacs).load("photo", "test")


def test_two_folders_of_one_class_are_named(open_benchmark, tmp_path, write):
    write.tree(tmp_path / "vlcs", ["SUN09"], ("bird", "car", "chair", "dog", "person", "0"))
    with pytest.raises(DataError, match="second folder of class 'bird'"):
        open_benchmark("vlcs", tmp_path).load("sun09", "test")


@pytest.mark.parametrize("name", ["notes.txt", "image"])
def test_a_file_that_is_no_image_by_its_name_is_named(open_benchmark, own, name):
    (own / "day" / "cat" / name).write_text("hello")
    with pytest.raises(DataError, match=f"cat/{name}: not an image by its file extension"):
        open_benchmark("folder", own).load("day", "test")


def test_files_of_the_system_are_passed_over(open_benchmark, own):
    for name in (".DS_Store", "._pic_000.jpg", "Thumbs.db"):
        (own / "day" / "cat" / name).write_text("hello")
    assert len(open_benchmark("folder", own).load("day", "test")) == 20


def test_a_folder_among_images_is_named(open_benchmark, own):
    (own / "day" / "cat" / "more").mkdir()
    with pytest.raises(DataError, match="cat/more: a folder among images"):
        open_benchmark("folder", own).load("day", "test")


def test_a_link_to_a_missing_image_is_named(open_benchmark, own):
    (own / "day" / "cat" / "pic_020.jpg").symlink_to(own / "gone.jpg")
    with pytest.raises(DataError, match=r"cat/pic_020\.jpg: a link to a missing file; restore"):
        open_benchmark("folder", own).load("day", "test")


def test_a_link_to_an_image_is_an_image(open_benchmark, own):
    (own / "day" / "cat" / "pic_020.jpg").symlink_to(own / "night" / "cat" / "pic_001.jpg")
    assert len(open_benchmark("folder", own).load("day", "test")) == 21


def test_a_pipe_among_images_is_named(own):
    os.mkfifo(own / "day" / "cat" / "pic_020.jpg")
    with pytest.raises(DataError, match=r"cat/pic_020\.jpg: not a file; move it away"):
        images_in(own / "day" / "cat")


def test_one_image_of_each_class_is_too_few_to_train_on(open_benchmark, tmp_path, write):
    write.tree(tmp_path, ("day", "night"), ("cat", "dog"), count=1)
    found = open_benchmark("folder", tmp_path)
    with pytest.raises(DataError, match=r"day: no images for the val split; .* two images or more"):
        found.load("day", "val")
    assert len(found.load("day", "test")) == 2


def test_one_image_of_some_classes_is_enough(open_benchmark, own):
    for number in range(1, 10):
        (own / "day" / "cat" / f"pic_{number:03}.jpg").unlink()
    found = open_benchmark("folder", own)
    assert found.load("day", "train").labels.tolist() == [0] + [1] * 9
    assert found.load("day", "val").labels.tolist() == [1]


@pytest.mark.parametrize("place", ["", "day", "day/cat"])
def test_a_folder_without_permission_is_named(open_benchmark, own, monkeypatch, place):
    listed = Path.iterdir

    def refuse(path):
        if path == own / place:
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(DataError, match=rf"{own / place}: cannot be listed \(Permission denied\)"):
        open_benchmark("folder", own).load("day", "test")
