"""The commands: what they print, their exit codes, and bad input."""

import json

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    for name in ("cats/a.png", "dogs/b.png"):
        (tmp_path / "photos" / name).parent.mkdir(parents=True)
        pixels = random.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "photos" / name)
    return tmp_path / "photos"


def test_copies_are_made_and_told(run, photos):
    (photos / "notes.txt").touch()
    code, out, err = run("augment", "photos", "out", "--copies", 2)
    assert (code, err) == (0, "")
    assert out == (
        "4 copies of 2 pictures written; their draws: out/augment.jsonl\n"
        "left out, no pictures by their extension: 1 (notes.txt)\n"
    )
    assert {path.name for path in photos.parent.glob("out/*/*")} == {
        f"{name}-{copy}.png" for name in "ab" for copy in (1, 2)
    }
    _, out, _ = run("augment", "photos", "out", "--copies", 2)
    assert out.startswith("0 copies of 0 pictures written, 4 were there;")


def test_a_dry_run_tells_counts_room_and_time_and_writes_nothing(run, photos):
    code, out, _ = run("augment", "photos", "out", "--dry-run", "--workers", 2)
    first, room, time, basis = out.splitlines()
    assert code == 0
    assert first == "2 pictures in 2 folders, 4 copies each: 8 files"
    assert room.startswith("room: about 33 kB, and ")
    assert "kB a draw); " in room
    assert time.endswith("with 2 processes")
    assert basis == "estimated from 2 pictures, for a folder that is not begun yet"
    assert not (photos.parent / "out").exists()


def test_a_damaged_file_is_named_at_the_end_and_the_others_are_copied(run, photos):
    (photos / "bad.jpg").write_bytes(b"no picture")
    code, out, err = run("augment", "photos", "out", "--copies", 1)
    assert code == 1
    assert out.startswith("2 copies of 2 pictures written")
    assert err == (
        "prorandconv: photos/bad.jpg: not an image; remove it, or replace it by one\n"
        "prorandconv: 1 picture without copies, named above\n"
    )


def test_options_reach_the_manifest(run, photos):
    words = ("--copies", 1, "--format", "webp", "--size", 8, "--seed", 3, "--include-originals")
    block = ("--kernel-size", 5, "--offsets", "none", "--smoothing", 0.1, 0.2, "--no-contrast")
    assert run("augment", "photos", "out", *words, *block)[0] == 0
    first = (photos.parent / "out" / "augment.jsonl").read_text().splitlines()[0]
    settings = json.loads(first)["settings"]
    expected = {"copies": 1, "format": "webp", "size": 8, "seed": 3, "include_originals": True}
    assert settings.items() >= expected.items()
    operator = {"kernel_size": 5, "offsets": "none", "smoothing": [0.1, 0.2], "contrast": False}
    assert settings["operator"].items() >= operator.items()
    assert len(list((photos.parent / "out").rglob("*.webp"))) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing", "out"), "SRC: got 'missing', expected a folder of pictures"),
        (("photos", "photos/out"), "DST: got 'photos/out', expected a folder apart from SRC"),
        (("photos", "out", "--copies", 0), "--copies: got 0, expected 1 or more"),
        (("photos", "out", "--size", 0), "--size: got 0"),
        (("photos", "out", "--workers", -1), "workers: got -1"),
        (("photos", "out", "--kernel-size", 4), "kernel_size: got 4, expected an odd number"),
        (("photos", "out", "--masks", "none"), "--masks: got 'none', expected a folder"),
        (("photos", "full"), "full: is not empty"),
        (("photos", "full/file.txt"), "full/file.txt: is a file, where a folder is needed"),
        (("full", "out"), "full: holds no pictures"),
    ],
)
def test_bad_input_is_a_sentence(run, photos, words, message):
    (photos.parent / "full").mkdir()
    (photos.parent / "full" / "file.txt").touch()
    code, _, err = run("augment", *words)
    assert code == 2
    assert err.startswith(f"prorandconv: {message}")
    assert not (photos.parent / "out").exists()


class TestRemake:
    @pytest.fixture
    def copy(self, run, photos):
        assert run("augment", "photos", "out", "--copies", 1)[0] == 0
        return photos.parent / "out" / "cats" / "a-1.png"

    def test_a_copy_that_is_there_is_compared(self, run, copy):
        code, out, _ = run("remake", "out/cats/a-1.png")
        assert (code, out) == (0, "out/cats/a-1.png: the same, pixel for pixel\n")
        with Image.open(copy) as image:
            changed = np.array(image)
        changed[0, 0, 0] ^= 1
        Image.fromarray(changed).save(copy)
        code, out, _ = run("remake", "out/cats/a-1.png")
        assert (code, out) == (1, "out/cats/a-1.png: differs from what its draw makes\n")

    def test_one_that_is_missing_is_put_back(self, run, copy):
        before = copy.read_bytes()
        copy.unlink()
        assert run("remake", "out/cats/a-1.png")[1] == "out/cats/a-1.png: written\n"
        assert copy.read_bytes() == before

    def test_a_new_file_is_written_and_none_overwritten(self, run, copy, tmp_path):
        words = ("remake", "out/cats/a-1.png", "--output", "again.png")
        assert run(*words)[0] == 0
        assert (tmp_path / "again.png").read_bytes() == copy.read_bytes()
        code, _, err = run(*words)
        assert code == 2
        assert err.startswith("prorandconv: --output: got 'again.png', expected a new file")
