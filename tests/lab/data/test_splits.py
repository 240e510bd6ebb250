"""Stratified splits, the same on every machine."""

import shutil
from pathlib import Path

import torch

from prorandconv.lab.data.splits import stratified_split

from .conftest import names_of as names


def test_without_lists_a_tenth_of_each_class_is_validation(open_benchmark, pacs):
    found = open_benchmark("pacs", pacs)
    train, val = found.load("art", "train"), found.load("art", "val")
    assert torch.bincount(train.labels).tolist() == [9] * 7
    assert torch.bincount(val.labels).tolist() == [1] * 7
    assert not set(names(train)) & set(names(val))
    assert set(names(train)) | set(names(val)) == set(names(found.load("art", "test")))


def test_order_and_split_do_not_depend_on_the_listing(open_benchmark, pacs, monkeypatch):
    def of_all_splits():
        found = open_benchmark("pacs", pacs)
        return [names(found.load("art", split)) for split in ("train", "val", "test")]

    before = of_all_splits()
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
    assert before == of_all_splits()


def test_the_split_is_the_same_under_another_root_and_spelling(
    open_benchmark, pacs, tmp_path_factory
):
    other = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(pacs / "pacs", other / "PACS")
    (other / "PACS" / "art_painting").rename(other / "PACS" / "Art")
    prints = [open_benchmark("pacs", root).load("art", "val").fingerprint for root in (pacs, other)]
    assert prints[0] == prints[1]
    assert prints[0] != open_benchmark("pacs", pacs).load("art", "train").fingerprint


def test_the_split_is_what_it_always_was():
    own = [f"photo/dog/pic_{i:03}.jpg" for i in range(30)]
    _, val = stratified_split(own, [0] * 20 + [1] * 10)
    assert val == [15, 17, 22]
