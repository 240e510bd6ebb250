"""What is removed of finished runs, and what never is."""

import numpy as np
import pytest
from filelock import FileLock
from safetensors.numpy import save_file

from prorandconv.lab.run.directory import prunable, prune

FILES = ("config.json", "metrics.jsonl", "result.json", "state.pt", "state.previous.pt")


@pytest.fixture
def finished(tmp_path):
    def make(name="a", without=()):
        home = tmp_path / name
        home.mkdir()
        for file in FILES:
            (home / file).write_bytes(b"0123456789")
        save_file({"weight": np.zeros(3, np.float32)}, home / "best.safetensors")
        for file in without:
            (home / file).unlink()
        return home

    return make


def names(home):
    return {path.name for path in home.iterdir() if path.name != ".lock"}


def test_only_the_checkpoints_of_a_finished_run_are_removed(finished):
    home = finished()
    (one,) = prunable([home])
    assert one.bytes == 20
    assert prune(one)
    assert names(home) == {"config.json", "metrics.jsonl", "result.json", "best.safetensors"}


def test_an_unfinished_run_keeps_its_checkpoints(finished):
    assert prunable([finished(without=["result.json"])]) == []


def test_a_run_without_intact_best_weights_keeps_its_checkpoints(finished):
    damaged = finished("damaged")
    (damaged / "best.safetensors").write_bytes(b"torn")
    assert prunable([finished("missing", without=["best.safetensors"]), damaged]) == []


def test_a_run_without_checkpoints_is_left_out(finished):
    assert prunable([finished(without=["state.pt", "state.previous.pt"])]) == []


def test_a_run_in_use_is_left_as_it_is(finished):
    home = finished()
    (one,) = prunable([home])
    with FileLock(home / ".lock"):
        assert not prune(one)
    assert names(home) == {*FILES, "best.safetensors"}
