"""Stratified splits, the same on every machine."""

import shutil
from pathlib import Path

import torch

from prorandconv.lab.data.splits import stratified_split


def test_without_lists_a_tenth_of_each_class_is_validation(open_benchmark, pacs):
    found = open_benchmark("pacs", pacs)
    train, val = found.load("art", "train"), found.load("art", "val")
    assert torch.bincount(train.labels).tolist() == [9] * 7
    assert torch.bincount(val.labels).tolist() == [1] * 7
    assert not set(train.names) & set(val.names)
    assert set(train.names) | set(val.names) == set(found.load("art", "test").names)


def test_order_and_split_do_not_depend_on_the_listing(open_benchmark, pacs, monkeypatch):
    before = {
        s: open_benchmark("pacs", pacs).load("art", s).names for s in ("train", "val", "test")
    }
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
    after = {s: open_benchmark("pacs", pacs).load("art", s).names for s in ("train", "val", "test")}
    assert before == after


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
    names = [f"photo/dog/pic_{i:03}.jpg" for i in range(30)]
    _, val = stratified_split(names, [0] * 20 + [1] * 10)
    assert val == [15, 17, 22]
