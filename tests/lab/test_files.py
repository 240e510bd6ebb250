"""Files are written whole or not at all, by one process or several."""

import multiprocessing
from pathlib import Path

import pytest

from prorandconv.lab.files import cache_folder, data_root, replacing


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


def _write_often(path, letter):
    for _ in range(100):
        with replacing(Path(path)) as temporary, temporary.open("w") as file:
            for _ in range(20):
                file.write(letter * 1000)


def test_a_reader_never_sees_a_mixture_of_two_writers(tmp_path):
    path = tmp_path / "file"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_often, args=(str(path), letter)) for letter in "ab"]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            seen.add(path.read_text())
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert seen <= {"a" * 20_000, "b" * 20_000}
    assert list(tmp_path.iterdir()) == [path]


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
