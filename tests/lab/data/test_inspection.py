"""Every file is read and decoded once, and again when it has changed."""

import pytest
from PIL import Image

from prorandconv.lab import files
from prorandconv.lab.data import DataError, Options, get_benchmark, inspection


def test_intact_files_are_not_decoded_again(open_benchmark, own, monkeypatch):
    open_benchmark("folder", own).load("day", "test")
    monkeypatch.setattr(inspection, "inspect", None)
    open_benchmark("folder", own).load("day", "val")


def test_a_changed_file_is_looked_at_again(open_benchmark, own):
    open_benchmark("folder", own).load("day", "test")
    changed = own / "day" / "cat" / "pic_003.jpg"
    changed.write_bytes(changed.read_bytes()[:300])
    with pytest.raises(DataError, match="pic_003"):
        open_benchmark("folder", own).load("day", "test")


def test_only_changed_files_are_read_again(open_benchmark, own, monkeypatch):
    open_benchmark("folder", own).load("day", "test")
    changed = own / "day" / "cat" / "pic_003.jpg"
    Image.new("RGB", (40, 40)).save(changed)
    read = []
    inspect = inspection.inspect
    monkeypatch.setattr(
        inspection,
        "inspect",
        lambda files, *more, **rest: (
            read.extend(file.path for file in files) or inspect(files, *more, **rest)
        ),
    )
    open_benchmark("folder", own).load("day", "test")
    assert read == [changed]


@pytest.mark.parametrize("content", ["{", "3"])
def test_a_damaged_record_of_intact_files_is_made_anew(open_benchmark, own, content):
    before = open_benchmark("folder", own).load("day", "test").fingerprint
    (record,) = (files.cache_folder() / "intact").iterdir()
    record.write_text(content)
    assert open_benchmark("folder", own).load("day", "test").fingerprint == before


def test_broken_files_leave_no_mark_of_having_been_intact(open_benchmark, own):
    broken = own / "day" / "cat" / "pic_003.jpg"
    broken.write_bytes(broken.read_bytes()[:300])
    for _ in range(2):
        with pytest.raises(DataError, match="pic_003"):
            open_benchmark("folder", own).load("day", "test")


def test_files_of_an_unusual_kind_are_told_of_when_first_loaded(open_benchmark, own):
    path = own / "day" / "cat" / "pic_002.jpg"
    Image.open(path).convert("CMYK").save(path)
    with pytest.warns(UserWarning, match=r"day: 1 image\(s\) .*pic_002.jpg: CMYK, converted"):
        open_benchmark("folder", own).load("day", "test")


@pytest.mark.parametrize("workers", [0, 2])
def test_broken_images_are_named_before_training(own, workers):
    for name in ("day/cat/pic_003.jpg", "day/dog/pic_007.jpg"):
        (own / name).write_bytes((own / name).read_bytes()[:300])
    (own / "day" / "dog" / "pic_001.jpg").write_text("hello")
    found = get_benchmark("folder", own, Options(workers=workers))
    with pytest.raises(DataError, match=r"day: 3 broken image") as raised:
        found.load("day", "train")
    for name in ("cat/pic_003.jpg", "dog/pic_007.jpg", "dog/pic_001.jpg"):
        assert name in str(raised.value)
    assert len(found.load("night", "test")) == 20


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_replaced_pixels_change_the_fingerprint_of_their_split(
    open_benchmark, replace_pixels, uncompressed, split
):
    before = open_benchmark("folder", uncompressed).load("day", split)
    assert (
        open_benchmark("folder", uncompressed).load("day", split).fingerprint == before.fingerprint
    )
    replace_pixels(before.store.files[0].path)
    assert (
        open_benchmark("folder", uncompressed).load("day", split).fingerprint != before.fingerprint
    )


def test_replaced_pixels_of_one_domain_leave_the_others_fingerprint(
    open_benchmark, replace_pixels, uncompressed
):
    before = open_benchmark("folder", uncompressed).load("night", "test").fingerprint
    replace_pixels(uncompressed / "day" / "cat" / "pic_003.bmp")
    assert open_benchmark("folder", uncompressed).load("night", "test").fingerprint == before


def test_the_fingerprint_of_joined_domains_covers_their_content(
    open_benchmark, replace_pixels, uncompressed
):
    before = open_benchmark("folder", uncompressed).load(["day", "night"], "train").fingerprint
    for path in (uncompressed / "night").rglob("*.bmp"):
        replace_pixels(path)
    assert (
        open_benchmark("folder", uncompressed).load(["day", "night"], "train").fingerprint != before
    )


def test_a_cache_that_cannot_be_written_costs_time_only(open_benchmark, own, monkeypatch):
    def refuse(path, text):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(inspection, "write_text", refuse)
    assert len(open_benchmark("folder", own).load("day", "test")) == 20
