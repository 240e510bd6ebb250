"""A full disk: named before a run begins, and in the middle of it, with what is finished intact."""

import json
import shutil
import subprocess
from collections import namedtuple

import pytest
import safetensors.torch

from prorandconv.lab.errors import RunError
from prorandconv.lab.run import checkpoint
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.data import learner_of, network_of
from prorandconv.lab.run.directory import BEST, RESULT, STATE, RunDirectory
from prorandconv.lab.run.training import train


def execution(runs):
    return Execution(runs, "cpu", quiet=True, keep_checkpoint=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"momentum": 0.0},
        {"average": "ema"},
        {"optimiser": "adam", "select": "val-shifted"},
    ],
    ids=["plain", "average", "moments and two selections"],
)
def test_the_disk_that_a_run_needs_is_what_its_files_take_at_most(small_run, trained, changes):
    config = small_run("erm", network="lenet", train_images=64, **changes)
    needed = checkpoint.disk_needed(config, learner_of(config, network_of(config)))
    folder = trained(config)
    state, best = ((folder / name).stat().st_size for name in (STATE, BEST))
    assert needed.weights == pytest.approx(best, rel=0.01)
    most = 3 * state + 2 * best
    assert 0.99 * most < needed.peak < 1.6 * most  # selections are often of the same epoch


def test_a_disk_without_room_is_named_before_the_first_step(small_run, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 0, 3_000_000))
    config = small_run("erm", network="lenet")
    with pytest.raises(RunError, match=r"need up to 200 MB, and the disk has 3 MB left .*--runs"):
        train(config, execution(tmp_path))
    assert not (config.directory(tmp_path) / STATE).exists()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 10 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", place])
    if mounted.returncode:
        pytest.skip("mounting a small disk is not allowed here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_disk_that_becomes_full_in_the_middle_ends_a_run_and_leaves_the_finished(
    small_run, trained, small_disk, monkeypatch
):
    done, config = small_run(epochs=2), small_run("erm", epochs=4)
    folder = trained(done, small_disk)
    write, epochs = RunDirectory.write_lines, []

    def fill(self, name, lines):
        if len(lines) == 2 and not epochs:
            epochs.append(2)
            free = shutil.disk_usage(small_disk).free
            (small_disk / "other").write_bytes(bytes(max(free - 4096, 0)))
        write(self, name, lines)

    monkeypatch.setattr(RunDirectory, "write_lines", fill)
    with pytest.raises(RunError, match=r"No space left on device\); it takes \d+\.\d MB; older"):
        train(config, execution(small_disk))
    assert json.loads((folder / RESULT).read_text())["hash"] == done.hash
    assert safetensors.torch.load_file(folder / BEST)
    (small_disk / "other").unlink()
    result = train(config, execution(small_disk))
    expected = json.loads((trained(config) / RESULT).read_text())
    assert result == expected
