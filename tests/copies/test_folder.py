"""A folder and its copies: killed and resumed, by one process or several, and never overwritten."""

import multiprocessing
import random
import signal
import time

import numpy as np
import pytest
from filelock import FileLock
from PIL import Image

from prorandconv.copies import folder
from prorandconv.copies.folder import Job, make_copies
from prorandconv.copies.settings import Operator, Settings
from prorandconv.errors import ProRandConvError
from prorandconv.lab.cli.main import main
from prorandconv.lab.errors import DataError

from .conftest import noise

KILLS = 8


def copied(source, target, workers=1, masks=None, **options):
    job = Job(source, target, masks, Settings(**options))
    return make_copies(job, job.tree(), workers)


def written(root):
    """Which files there are, and when they were written."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def test_the_tree_is_kept(photos, tmp_path, tree_bytes):
    outcome = copied(photos, tmp_path / "out", copies=2)
    stems = ("cats/a", "cats/b", "dogs/deep/c", "dogs/grey")
    expected = {f"{stem}-{copy}.png" for stem in stems for copy in (1, 2)}
    assert tree_bytes(tmp_path / "out").keys() == expected | {"augment.jsonl"}
    assert (outcome.made, outcome.before, outcome.problems) == (4, 0, {})


def test_what_is_there_is_not_made_again(photos, tmp_path):
    copied(photos, tmp_path / "out")
    before = written(tmp_path / "out")
    outcome = copied(photos, tmp_path / "out")
    assert (outcome.made, outcome.before) == (0, 4)
    assert written(tmp_path / "out") == before


def test_a_copy_that_was_removed_is_made_again(photos, tmp_path, tree_bytes):
    copied(photos, tmp_path / "out")
    whole = tree_bytes(tmp_path / "out")
    (tmp_path / "out" / "cats" / "a-2.png").unlink()
    assert copied(photos, tmp_path / "out").made == 1
    assert tree_bytes(tmp_path / "out") == whole


def test_pictures_that_were_added_are_copied_and_others_stay(photos, tmp_path, tree_bytes):
    copied(photos, tmp_path / "out")
    before = tree_bytes(tmp_path / "out")
    Image.fromarray(noise(seed=9)).save(photos / "cats" / "aa.png")
    assert copied(photos, tmp_path / "out").made == 1
    after = tree_bytes(tmp_path / "out")
    assert len(after) == len(before) + 4
    copied(photos, tmp_path / "anew")
    assert after == tree_bytes(tmp_path / "anew")


@pytest.mark.parametrize("what", ["picture", "mask"])
def test_copies_of_what_has_changed_are_not_taken_for_done(photos, tmp_path, tree_bytes, what):
    masks, out = tmp_path / "masks", tmp_path / "out"
    for path in photos.rglob("*.*"):
        mask = masks / path.relative_to(photos).with_suffix(".png")
        mask.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", Image.open(path).size, 1).save(mask)
    copied(photos, out, masks=masks)
    before = tree_bytes(out)
    changed = (photos if what == "picture" else masks) / "cats" / "a.png"
    with Image.open(changed) as image:
        Image.fromarray(255 - np.asarray(image)).save(changed)
    with pytest.raises(DataError, match=r"photos: 1 picture.*changed.*: cats/a.png; .*--renew"):
        copied(photos, out, masks=masks)
    assert tree_bytes(out) == before
    job = Job(photos, out, masks, Settings())
    outcome = make_copies(job, job.tree(), 1, renew=True)
    assert (outcome.made, outcome.before) == (1, 3)
    copied(photos, tmp_path / "anew", masks=masks)
    assert tree_bytes(out) == tree_bytes(tmp_path / "anew")
    assert copied(photos, out, masks=masks).made == 0


def test_copies_of_pictures_that_are_gone_are_named(photos, tmp_path, run):
    assert run("augment", photos, tmp_path / "out")[0] == 0
    (photos / "cats" / "a.png").unlink()
    code, out, _ = run("augment", photos, tmp_path / "out")
    assert code == 0
    assert "copies of pictures that are there no more: 1 (cats/a.png)" in out


def test_damaged_pictures_are_told_and_tried_again(photos, tmp_path, tree_bytes):
    good = (photos / "cats" / "a.png").read_bytes()
    (photos / "cats" / "a.png").write_bytes(good[:100])
    outcome = copied(photos, tmp_path / "out")
    assert outcome.made == 3
    assert list(outcome.problems) == ["cats/a.png"]
    assert "cats/a.png: cannot be decoded" in outcome.problems["cats/a.png"]
    (photos / "cats" / "a.png").write_bytes(good)
    assert copied(photos, tmp_path / "out").made == 1
    copied(photos, tmp_path / "anew")
    assert tree_bytes(tmp_path / "out") == tree_bytes(tmp_path / "anew")


def test_conversions_are_counted(photos, tmp_path):
    Image.fromarray(noise(channels=4)).save(photos / "alpha.png")
    outcome = copied(photos, tmp_path / "out", copies=1)
    assert outcome.conversions == {"alpha, composited over white": 1}


def test_the_number_of_processes_changes_no_byte(photos, tmp_path, tree_bytes, monkeypatch):
    monkeypatch.setattr("prorandconv.copies.folder.FEW", 0)
    (photos / "bad.png").write_bytes(b"")
    one, two = (copied(photos, tmp_path / str(workers), workers, copies=2) for workers in (1, 2))
    assert one == two
    assert list(two.problems) == ["bad.png"]
    assert tree_bytes(tmp_path / "1") == tree_bytes(tmp_path / "2")


class TestRefused:
    def test_a_folder_with_other_content(self, photos, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine.txt").touch()
        with pytest.raises(DataError, match=r"is not empty.*mine\.txt is in it"):
            copied(photos, tmp_path / "out")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]

    def test_a_file_of_somebody_else_among_the_copies_is_kept(self, photos, tmp_path):
        copied(photos, tmp_path / "out", copies=1)
        Image.fromarray(noise(seed=9)).save(photos / "new.png")
        (tmp_path / "out" / "new-1.png").write_bytes(b"mine")
        outcome = copied(photos, tmp_path / "out", copies=1)
        assert "new-1.png: is there already" in outcome.problems["new.png"]
        assert (tmp_path / "out" / "new-1.png").read_bytes() == b"mine"

    @pytest.mark.parametrize("target", [".", "out", "../photos/deep/out", ".."])
    def test_a_target_in_or_around_the_source(self, photos, target):
        with pytest.raises(ProRandConvError, match=r"DST: got .* a folder apart from SRC"):
            copied(photos, photos / target)

    def test_masks_within_the_source(self, photos, tmp_path):
        with pytest.raises(ProRandConvError, match=r"--masks: got .* apart from SRC"):
            copied(photos, tmp_path / "out", masks=photos / "cats")

    def test_labels_that_move_without_masks(self, photos, tmp_path):
        with pytest.raises(ProRandConvError, match=r"--labels: got 'move', expected --masks"):
            copied(photos, tmp_path / "out", labels="move")

    def test_wrong_options_of_the_operator_before_anything_is_written(self, photos, tmp_path):
        with pytest.raises(ProRandConvError, match="kernel_size: got 4"):
            copied(photos, tmp_path / "out", operator=Operator(kernel_size=4))
        assert not (tmp_path / "out").exists()

    def test_a_label_that_masks_do_not_hold_before_anything_is_written(self, photos, tmp_path):
        masks = tmp_path / "masks"
        for path in photos.rglob("*.*"):
            target = (masks / path.relative_to(photos)).with_suffix(".png")
            target.parent.mkdir(parents=True, exist_ok=True)
            with Image.open(path) as image:
                Image.new("L", image.size).save(target)
        with pytest.raises(ProRandConvError, match="ignore_index: got 300, expected from 0 to 255"):
            copied(photos, tmp_path / "out", masks=masks, labels="move", ignore_index=300)
        assert not list((tmp_path / "out").rglob("*.png"))

    def test_more_than_fits_on_the_disk(self, photos, tmp_path, monkeypatch):
        monkeypatch.setattr(folder, "free_bytes", lambda path: 5000)
        with pytest.raises(DataError, match=r"about 2\d\d kB .* and 5\.0 kB are free"):
            copied(photos, tmp_path / "out")
        monkeypatch.setattr(folder, "free_bytes", lambda path: 1_000_000)
        assert copied(photos, tmp_path / "out", size=8).before == 0, "other options are possible"

    def test_a_folder_at_which_another_process_is_at_work(self, photos, tmp_path):
        (tmp_path / "out").mkdir()
        with (
            FileLock(tmp_path / "out" / ".lock"),
            pytest.raises(DataError, match="in use by another process"),
        ):
            copied(photos, tmp_path / "out")


def test_what_dying_processes_leave_behind_meanwhile_is_removed(photos, tmp_path, monkeypatch):
    made = folder.all_made

    def disturbed(*arguments):
        yield from made(*arguments)
        (tmp_path / "out" / "cats" / ".writing-x.png").touch()

    monkeypatch.setattr(folder, "all_made", disturbed)
    copied(photos, tmp_path / "out", copies=1)
    assert not list((tmp_path / "out").rglob(".writing*"))


@pytest.fixture
def start():
    """Starts the command in a child; the server it is forked from has imported everything."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["prorandconv.copies.folder", "prorandconv.lab.cli.augment"])
    children = []

    def make(*words):
        child = server.Process(target=main, args=([str(word) for word in words],))
        child.start()
        children.append(child)
        return child

    yield make
    for child in children:
        if child.is_alive():
            child.kill()
            child.join()


@pytest.fixture
def many(photos):
    """24 pictures: enough to be killed among them, and for several processes."""
    for number in range(20):
        Image.fromarray(noise(seed=number)).save(photos / "cats" / f"{number}.png")
    return photos


def test_kills_at_random_moments_change_no_byte(many, tmp_path, start, tree_bytes):
    words = ("augment", many, "--copies", 3, "--workers", 1)
    start(*words, tmp_path / "first").join()  # which waits until the server is there
    began = time.monotonic()
    start(*words, tmp_path / "timed").join()
    usual = time.monotonic() - began
    chance, kills, partial = random.Random(0), 0, 0
    while kills < KILLS:
        target = tmp_path / f"disturbed{kills}"
        while True:
            child = start(*words, target)
            child.join(timeout=chance.uniform(0.1, 0.9) * usual)
            child.kill()
            child.join()
            if child.exitcode == 0:
                break
            assert child.exitcode == -signal.SIGKILL
            kills += 1
            partial += 0 < len(list(target.rglob("*-*.png"))) < 72
        assert tree_bytes(target) == tree_bytes(tmp_path / "first")
    assert partial > 0


@pytest.mark.slow
def test_a_killed_command_of_several_processes_is_resumed_by_one(many, tmp_path, start, tree_bytes):
    target = tmp_path / "disturbed"
    child = start("augment", many, target, "--copies", 3, "--workers", 2)
    while not list(target.rglob("*-3.png")):
        assert child.is_alive()
        time.sleep(0.01)
    child.kill()
    child.join()
    copied(many, target, copies=3)
    copied(many, tmp_path / "undisturbed", copies=3)
    assert tree_bytes(target) == tree_bytes(tmp_path / "undisturbed")
