"""Domains that are folders: names, a user's own, and what is wrong with them."""

import os
import shutil
from pathlib import Path

import pytest

from prorandconv.lab.data import DataError
from prorandconv.lab.data.benchmarks.photos import OFFICEHOME_CLASSES
from prorandconv.lab.data.folders import images_in, normalised_name

VLCS = ("bird", "car", "chair", "dog", "person")
PUBLISHED = {
    "vlcs": ("VLCS", ("VOC2007", "LabelMe", "Caltech101", "SUN09"), VLCS),
    "vlcs, by other names": ("VLCS", ("PASCAL", "LABELME", "CALTECH", "SUN"), "01234"),
    "officehome": (
        "OfficeHomeDataset_10072016",
        ("Art", "Clipart", "Product", "Real World"),
        [name.title() for name in OFFICEHOME_CLASSES],
    ),
}


def test_names_differ_in_more_than_case_and_separators():
    assert len({normalised_name(name) for name in ("Real World", "real_world", "Real-World")}) == 1
    assert normalised_name("art") != normalised_name("artpainting")


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_folders_are_found_by_any_of_their_names(open_benchmark, tmp_path, write, case):
    home, folders, classes = PUBLISHED[case]
    write.tree(tmp_path / home, folders, classes, count=2, size=8)
    found = open_benchmark(case.split(",")[0], tmp_path)
    assert found.present() == found.domains
    assert found.classes == (VLCS if "vlcs" in case else OFFICEHOME_CLASSES)
    labels = found.load(found.domains[-1], "test").labels.tolist()
    assert labels == [label for label in range(len(classes)) for _ in range(2)]


def test_a_users_own_folders_need_no_code(open_benchmark, own):
    found = open_benchmark("folder", own)
    assert (found.domains, found.classes) == (("day", "night"), ("cat", "dog"))
    assert found.load("night", "test").labels.tolist() == [0] * 10 + [1] * 10


def test_domains_whose_names_differ_in_case_only_stay_apart(open_benchmark, own):
    shutil.copytree(own / "night", own / "Day")
    found = open_benchmark("folder", own)
    for domain in ("Day", "day"):
        assert found.load(domain, "test").store.files[0].path.parent == own / domain / "cat"


def test_a_missing_domain_is_named_and_left_out_of_what_is_present(open_benchmark, pacs):
    shutil.rmtree(pacs / "pacs" / "sketch")
    found = open_benchmark("pacs", pacs)
    assert found.present() == ("art", "cartoon", "photo")
    assert found.missing() == ("sketch",)
    with pytest.raises(DataError, match="domain 'sketch' is missing"):
        found.load("sketch", "test")


def empty(folder):
    for image in folder.iterdir():
        image.unlink()


WRONG = {
    "pacs": {
        "gone": (shutil.rmtree, "'photo' is missing: looked for"),
        "an empty class": (
            lambda root: empty(root / "photo" / "horse"),
            "photo/horse: a class folder without images; fill",
        ),
        "a missing class": (
            lambda root: shutil.rmtree(root / "photo" / "horse"),
            "photo: no folder for class 'horse'; every domain",
        ),
        "a misspelt class": (
            lambda root: (root / "photo" / "horse").rename(root / "photo" / "horses"),
            "photo/horses: not one of .*did you mean 'horse'",
        ),
        "a class twice": (
            lambda root: (root / "photo" / "Horse").mkdir(),
            "second folder of class 'horse'",
        ),
    },
    "folder": {
        "no root": (shutil.rmtree, "mine: no such folder; expected <domain>"),
        "one domain": (
            lambda root: shutil.rmtree(root / "night"),
            r"holds 1 folder\(s\); expected two domains",
        ),
        "a class in one domain": (
            lambda root: shutil.copytree(root / "day" / "cat", root / "day" / "cow"),
            "day/cow: class 'cow' is in domain 'day' but not in",
        ),
        "a text": (
            lambda root: (root / "day/cat/notes.txt").touch(),
            "cat/notes.txt: not an image by its file extension",
        ),
        "no extension": (
            lambda root: (root / "day/cat/image").touch(),
            "cat/image: not an image by its file extension",
        ),
        "a folder within": (
            lambda root: (root / "day/cat/more").mkdir(),
            "cat/more: a folder among images",
        ),
        "a broken link": (
            lambda root: (root / "day/cat/z.jpg").symlink_to(root / "gone.jpg"),
            r"cat/z\.jpg: a link to a missing file; restore",
        ),
        "a broken domain": (
            lambda root: (root / "dusk").symlink_to(root / "gone"),
            "dusk: a link to a missing folder; restore",
        ),
        "a broken class": (
            lambda root: (root / "day/cow").symlink_to(root / "gone"),
            "day/cow: a link to a missing folder; restore",
        ),
        "a pipe": (
            lambda root: os.mkfifo(root / "day/cat/z.jpg"),
            r"cat/z\.jpg: not a file; move it away",
        ),
    },
}


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind in WRONG for case in WRONG[kind]])
def test_what_is_wrong_with_folders_is_named(open_benchmark, request, kind, case):
    break_it, message = WRONG[kind][case]
    root = request.getfixturevalue("pacs" if kind == "pacs" else "own")
    break_it(root / "pacs" if kind == "pacs" else root)
    with pytest.raises(DataError, match=message):
        open_benchmark(kind, root).load("photo" if kind == "pacs" else "day", "test")


def test_a_root_that_is_a_file_is_named(open_benchmark, tmp_path):
    (tmp_path / "mine").write_text("hello")
    with pytest.raises(DataError, match="mine: a file, not a folder; expected <domain>"):
        open_benchmark("folder", tmp_path / "mine")


def test_files_of_the_system_are_passed_over_and_links_followed(own):
    for name in (".DS_Store", "._pic_000.jpg", "Thumbs.db"):
        (own / "day" / "cat" / name).write_text("hello")
    (own / "day" / "cat" / "pic_020.jpg").symlink_to(own / "night" / "cat" / "pic_001.jpg")
    assert len(images_in(own / "day" / "cat")) == 11


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
