import errno
import os
import subprocess
import sys

import pytest
import torch

from prorandconv.lab.errors import RunError
from prorandconv.lab.run import checkpoint
from prorandconv.lab.run.checkpoint import checksum, read_state, write_state
from prorandconv.lab.run.directory import PREVIOUS, STATE, RunDirectory

SAVING = """
import resource, signal, sys, torch
from pathlib import Path
from prorandconv.lab.errors import RunError
from prorandconv.lab.run.checkpoint import write_state
from prorandconv.lab.run.directory import RunDirectory
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
directory = RunDirectory(Path(sys.argv[1]))
write_state(directory, {"number": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_state(directory, {"large": torch.zeros(1_000_000)})
except RunError as error:
    print(error)
"""


@pytest.fixture
def directory(tmp_path):
    return RunDirectory(tmp_path)


def damage(path, at=0.5):
    content = bytearray(path.read_bytes())
    place = int(len(content) * at)
    content[place] ^= 0xFF
    path.write_bytes(content)


def test_a_state_comes_back_as_it_was(directory):
    state = {"weights": {"a": torch.randn(3)}, "position": {"epoch": 2, "history": [{"x": 0.1}]}}
    write_state(directory, state)
    loaded, messages = read_state(directory)
    assert checksum(loaded) == checksum(state)
    assert messages == []


def test_two_checkpoints_are_kept(directory):
    for number in range(3):
        write_state(directory, {"number": number})
    assert sorted(path.name for path in directory.path.iterdir()) == [PREVIOUS, STATE]
    assert read_state(directory)[0] == {"number": 2}
    (directory.path / STATE).unlink()
    assert read_state(directory)[0] == {"number": 1}


@pytest.mark.parametrize("how", ["flipped", "truncated", "empty"])
def test_a_damaged_checkpoint_is_messages_set_aside_and_the_previous_one_used(directory, how):
    for number in range(2):
        write_state(directory, {"number": number, "tensor": torch.full((5000,), float(number))})
    path = directory.path / STATE
    if how == "flipped":
        damage(path)
    else:
        path.write_bytes(path.read_bytes()[: 4000 if how == "truncated" else 0])
    state, messages = read_state(directory)
    assert state["number"] == 0
    assert "damaged" in messages[0]
    assert not path.exists()
    assert len(list(directory.path.glob("state.damaged-*.pt"))) == 1


def test_a_flipped_bit_anywhere_in_a_tensor_is_found(directory):
    write_state(directory, {"tensor": torch.zeros(100_000)})
    damage(directory.path / STATE, 0.9)
    assert read_state(directory)[0] is None


def test_without_an_intact_checkpoint_training_starts_over_and_says_so(directory):
    write_state(directory, {"number": 0})
    (directory.path / STATE).write_bytes(b"nonsense")
    state, messages = read_state(directory)
    assert state is None
    assert "starts over" in messages[-1]


def test_a_full_disk_is_named_and_leaves_the_older_checkpoint(directory, monkeypatch):
    write_state(directory, {"number": 0})

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"state\.pt: cannot be written \(No space left on device\)"):
        write_state(directory, {"number": 1})
    assert [path.name for path in directory.path.iterdir()] == [STATE]
    assert read_state(directory)[0] == {"number": 0}


def test_a_write_that_the_system_cuts_off_leaves_the_older_checkpoint(directory):
    command = [sys.executable, "-c", SAVING, str(directory.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot be written (File too large)" in done.stdout
    assert "make room" in done.stdout
    assert read_state(directory)[0] == {"number": 1}


def test_a_checksum_knows_every_part_of_a_state():
    state = {"a": torch.zeros(2), "b": [1, 2.0, "x"]}
    others = [
        {"a": torch.zeros(2, dtype=torch.float64), "b": [1, 2.0, "x"]},
        {"a": torch.zeros(1, 2), "b": [1, 2.0, "x"]},
        {"a": torch.tensor([0.0, -0.0]), "b": [1, 2.0, "x"]},
        {"a": torch.zeros(2), "b": [1, 2, "x"]},
        {"c": torch.zeros(2), "b": [1, 2.0, "x"]},
    ]
    assert len({checksum(one) for one in [state, *others]}) == 6


def test_a_checkpoint_is_left_where_it_is_if_nothing_is_to_be_set_aside(directory):
    for number in range(2):
        write_state(directory, {"number": number})
    (directory.path / STATE).write_bytes(b"nonsense")
    state, messages = read_state(directory, set_aside=False)
    assert state == {"number": 0}
    assert "state.pt is damaged" in messages[0]
    assert sorted(path.name for path in directory.path.iterdir()) == [PREVIOUS, STATE]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, os.strerror(errno.EIO)),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
    ],
    ids=["disk", "memory", "torch's memory"],
)
@pytest.mark.parametrize("passes", [True, False])
def test_an_error_that_may_pass_is_no_damage(directory, monkeypatch, error, passes):
    write_state(directory, {"number": 0})
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN_TRIES", 0.0)
    load, failures = torch.load, [error] * (checkpoint.TRIES - 1 if passes else 99)

    def troubled(*arguments, **options):
        if failures:
            raise failures.pop()
        return load(*arguments, **options)

    monkeypatch.setattr(torch, "load", troubled)
    if passes:
        assert read_state(directory) == ({"number": 0}, [])
    else:
        with pytest.raises(RunError, match="cannot be read at the moment"):
            read_state(directory)
    assert [path.name for path in directory.path.iterdir()] == [STATE]


def test_an_intact_checkpoint_of_something_else_is_set_aside_and_the_previous_one_used(directory):
    write_state(directory, {"number": 0})
    write_state(directory, {"letter": "a"})

    def check(state):
        state["number"] + 1

    state, messages = read_state(directory, check=check)
    assert state == {"number": 0}
    assert "is intact but does not belong to this run" in messages[0]
    assert len(list(directory.path.glob("state.damaged-*.pt"))) == 1
