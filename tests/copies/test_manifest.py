"""The manifest grows, is resumed after every kind of end, and is refused where it does not fit."""

import json
from dataclasses import replace

import pytest

from prorandconv.copies.manifest import NAME, Header, Manifest, find
from prorandconv.copies.settings import Operator, Settings
from prorandconv.lab.errors import DataError

HEADER = Header("../photos", None, Settings())


def entry(source, copy=1):
    known = {"mask": None, "content": "", "mask_source": None, "mask_content": None, "draw": None}
    return {"picture": f"{source}-{copy}.png", "source": source, "copy": copy, **known}


def begun(folder, header=HEADER):
    manifest = Manifest(folder)
    manifest.resume(header)
    manifest.begin(header)
    return manifest


def sources(folder):
    lines = (folder / NAME).read_text().splitlines()
    return [json.loads(line)["source"] for line in lines[1:]]


def test_lines_are_sorted_by_picture_when_all_is_done(tmp_path):
    manifest = begun(tmp_path)
    for name in "cab":
        manifest.add([entry(name, 1), entry(name, 2)])
    assert sources(tmp_path) == ["c", "c", "a", "a", "b", "b"]
    manifest.finish()
    assert sources(tmp_path) == ["a", "a", "b", "b", "c", "c"]
    before = (tmp_path / NAME).stat().st_ino
    begun(tmp_path).finish()
    assert (tmp_path / NAME).stat().st_ino == before, "what is in order is not written again"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_off_is_removed(tmp_path, cut):
    manifest = begun(tmp_path)
    manifest.add([entry("a")])
    whole = (tmp_path / NAME).read_bytes()
    manifest.add([entry("b")])
    torn = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(torn[:-cut])
    begun(tmp_path)
    assert (tmp_path / NAME).read_bytes() == whole


def test_a_part_of_a_picture_s_lines_is_replaced(tmp_path):
    begun(tmp_path).add([entry("a", 1)])
    manifest = begun(tmp_path)
    targets = ["a-1.png", "a-2.png"]
    for name in targets:
        (tmp_path / name).touch()
    assert not manifest.has("a", targets)
    manifest.add([entry("a", 1), entry("a", 2)])
    assert manifest.has("a", targets)
    manifest.finish()
    assert sources(tmp_path) == ["a", "a"]


def test_copies_that_are_gone_are_not_there(tmp_path):
    manifest = begun(tmp_path)
    manifest.add([entry("a")])
    assert not manifest.has("a", ["a-1.png"])
    (tmp_path / "a-1.png").touch()
    assert manifest.has("a", ["a-1.png"])


def test_other_names_than_they_would_get_now_are_refused(tmp_path):
    manifest = begun(tmp_path)
    manifest.add([entry("a")])
    with pytest.raises(DataError, match=r"calls a copy of a a-1\.png, which now is a\.jpg-1\.png"):
        manifest.has("a", ["a.jpg-1.png"])


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (Header("../others", None, Settings()), "source ../photos, now it is ../others"),
        (Header("../photos", "../masks", Settings()), "masks None, now it is ../masks"),
        (replace(HEADER, settings=Settings(copies=5)), "copies 4, now it is 5"),
        (
            replace(HEADER, settings=Settings(operator=Operator(max_repeats=3))),
            "max_repeats 10, now it is 3",
        ),
    ],
)
def test_other_options_are_refused_by_name(tmp_path, other, told):
    begun(tmp_path)
    with pytest.raises(DataError, match=f"was begun with {told}; give the same options"):
        begun(tmp_path, other)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty"),
        ("{}\n", "is no manifest of prorandconv augment"),
        ('{"format":"prorandconv.augment","version":2}\n', "has version 2"),
        ("nonsense\n", "line 1 is damaged"),
        ('{"format":"prorandconv.augment","version":1}\n', "line 1 is damaged"),
        (HEADER.line().replace('"copies"', '"copy"'), "line 1 is damaged"),
        (HEADER.line().replace('"source"', '"sauce"'), "line 1 is damaged"),
        (HEADER.line() + '{"picture":"a-1.png"}\n', "line 2 is damaged"),
        (HEADER.line() + "\0\0\n", "line 2 is damaged"),
    ],
)
def test_what_is_no_intact_manifest_is_refused(tmp_path, content, told):
    (tmp_path / NAME).write_text(content)
    with pytest.raises(DataError, match=told):
        begun(tmp_path)


def test_header_and_entry_of_a_picture_are_found(tmp_path):
    operator = Operator(smoothing="none", offsets=(0.1, 0.2))
    header = replace(HEADER, settings=Settings(size=9, operator=operator))
    begun(tmp_path, header).add([entry("a"), entry("a", 2)])
    found, line = find(tmp_path / NAME, "a-2.png")
    assert found == header
    assert line == entry("a", 2)
    with pytest.raises(DataError, match=r"has no entry a-3\.png"):
        find(tmp_path / NAME, "a-3.png")
