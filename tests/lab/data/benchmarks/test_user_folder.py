"""A user's own image folders."""

import shutil

import pytest

from prorandconv.lab.data import DataError


def test_a_users_own_folders_need_no_code(open_benchmark, own):
    found = open_benchmark("folder", own)
    assert (found.domains, found.classes) == (("day", "night"), ("cat", "dog"))
    assert found.load("night", "test").labels.tolist() == [0] * 10 + [1] * 10


def test_a_class_in_one_domain_only_is_named(open_benchmark, own):
    shutil.copytree(own / "day" / "cat", own / "day" / "cow")
    with pytest.raises(DataError, match="day/cow: class 'cow' is in domain 'day' but not in"):
        open_benchmark("folder", own)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_domains_are_refused(open_benchmark, tmp_path, write, count):
    write.tree(tmp_path, ["day"][:count], ("cat", "dog"))
    with pytest.raises(DataError, match=rf"holds {count} folder\(s\); expected two domains"):
        open_benchmark("folder", tmp_path)


def test_a_root_that_is_a_file_is_named(open_benchmark, tmp_path):
    (tmp_path / "mine").write_text("hello")
    with pytest.raises(DataError, match="mine: a file, not a folder; expected <domain>"):
        open_benchmark("folder", tmp_path / "mine")


@pytest.mark.parametrize("place", ["dusk", "day/cow"])
def test_a_link_to_a_missing_folder_is_named(open_benchmark, own, place):
    (own / place).symlink_to(own / "gone")
    with pytest.raises(DataError, match=f"{place}: a link to a missing folder; restore"):
        open_benchmark("folder", own)


def test_domains_whose_names_differ_in_case_only_stay_apart(open_benchmark, own):
    shutil.copytree(own / "night", own / "Day")
    found = open_benchmark("folder", own)
    assert found.load("Day", "test").store.files[0].path.parent == own / "Day" / "cat"
    assert found.load("day", "test").store.files[0].path.parent == own / "day" / "cat"
