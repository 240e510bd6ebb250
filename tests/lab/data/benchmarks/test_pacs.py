"""PACS by its names, its published lists and its real images."""

import pytest

from prorandconv.lab.data import DataError, get_benchmark
from prorandconv.lab.data.benchmarks.photos import PACS_CLASSES as PACS

from ..conftest import names_of as names


def test_pacs_has_the_papers_domains_in_its_order(open_benchmark, pacs):
    found = open_benchmark("pacs", pacs)
    assert found.domains == found.present() == ("art", "cartoon", "photo", "sketch")
    assert names(found.load("art_painting", "test")) == names(found.load("art", "test"))


def test_labels_are_those_of_the_class_folders(open_benchmark, pacs):
    images = open_benchmark("pacs", pacs).load("photo", "test")
    assert len(images) == 70
    for name, label in zip(names(images), images.labels.tolist(), strict=True):
        assert name.split("/")[:2] == ["photo", PACS[label]]
    # the writer gives class i the green value 20 + 20 i
    ((x, y),) = images.batches(70)
    green = (x[:, 1].mean((1, 2)) * images.format.std[1] + images.format.mean[1]) * 255
    assert ((green - (20 + 20 * y)).abs() < 4).all()


@pytest.mark.parametrize("place", ["", "pacs_label"])
def test_published_lists_are_followed(open_benchmark, pacs, place):
    folder = pacs / "pacs" / place
    folder.mkdir(exist_ok=True)
    lists = {"train": range(6), "crossval": range(6, 10)}
    for part, numbers in lists.items():
        lines = [
            f"art_painting/{name}/pic_{n:03}.jpg {label}"
            for label, name in enumerate(PACS, 1)
            for n in numbers
        ]
        (folder / f"art_painting_{part}_kfold.txt").write_text("\n".join(lines))
    found = open_benchmark("pacs", pacs)
    train, val = found.load("art", "train"), found.load("art", "val")
    assert (len(train), len(val)) == (42, 28)
    assert names(train)[:2] == ["art/dog/pic_000.jpg", "art/dog/pic_001.jpg"]
    assert len(found.load("cartoon", "train")) == 63


@pytest.mark.parametrize(
    ("train", "val", "message"),
    [
        ("art_painting/dog/pic_099.jpg 1", "", "lists dog/pic_099.jpg, which is missing"),
        ("art_painting/dog/pic_001.jpg 2", "", "the label 2; expected 1"),
        ("art_painting/dog/pic_001.jpg", "", "line 1 is"),
        (
            "art_painting/dog/pic_001.jpg 1",
            "art_painting/dog/pic_001.jpg 1",
            "training list too",
        ),
        ("art_painting/dog/pic_001.jpg 1", None, "art_painting_crossval_kfold.txt: missing"),
    ],
)
def test_wrong_lists_are_named(open_benchmark, pacs, train, val, message):
    (pacs / "pacs" / "art_painting_train_kfold.txt").write_text(train)
    if val is not None:
        (pacs / "pacs" / "art_painting_crossval_kfold.txt").write_text(val)
    with pytest.raises(DataError, match=message):
        open_benchmark("pacs", pacs).load("art", "train")


@pytest.mark.real_data
def test_the_split_of_real_pacs_is_what_it_always_was(real_root):
    found = get_benchmark("pacs", real_root)
    files = found.domain("photo").files()
    train, val = found.domain("photo").splits(files)[0].values()
    assert (len(train), len(val)) == (1503, 167)
