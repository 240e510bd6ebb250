"""Files are written whole or not at all, by one writer or several."""

from pathlib import Path

import pytest

from prorandconv.lab.files import cache_folder, data_root, replacing, write_text


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "file.npz"
    with replacing(path) as temporary:
        temporary.write_text("half")
        assert temporary.suffix == ".npz"
        assert not path.exists()
    assert path.read_text() == "half"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_do_not_mix_and_the_later_one_wins(tmp_path):
    path = tmp_path / "file"
    with replacing(path) as slow:
        slow.write_text("a" * 1000)
        with replacing(path) as quick:
            quick.write_text("b" * 500)
            assert not path.exists()
        assert path.read_text() == "b" * 500
    assert path.read_text() == "a" * 1000
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_is_kept_under_another_name_if_asked(tmp_path):
    path, kept = tmp_path / "file", tmp_path / "previous"
    for text in ("one", "two", "three"):
        with replacing(path, keep=kept) as temporary:
            temporary.write_text(text)
    assert (path.read_text(), kept.read_text()) == ("three", "two")


def test_a_file_may_be_read_by_whoever_may_read_others(tmp_path):
    usual, path = tmp_path / "usual", tmp_path / "file"
    usual.touch()
    write_text(path, "text")
    assert path.stat().st_mode == usual.stat().st_mode


def test_the_cache_is_where_the_variables_say(monkeypatch, tmp_path):
    monkeypatch.setenv("PRORANDCONV_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("PRORANDCONV_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "prorandconv"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "prorandconv"


def test_the_data_root_is_the_argument_then_the_variable_then_data(monkeypatch):
    assert data_root() == Path("data")
    monkeypatch.setenv("PRORANDCONV_DATA", "elsewhere")
    assert data_root() == Path("elsewhere")
    assert data_root("here") == Path("here")
