import threading
import time

import pytest

from prorandconv.lab.errors import RunError
from prorandconv.lab.run.directory import RunDirectory


@pytest.fixture
def directory(tmp_path):
    return RunDirectory(tmp_path)


def test_a_second_process_raises_an_error(directory):
    with directory.locked(), pytest.raises(RunError, match="is in use by another process"):
        RunDirectory(directory.path).locked().__enter__()


def test_a_second_process_can_wait(directory):
    events = []

    def first():
        with directory.locked():
            time.sleep(0.5)
            events.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    time.sleep(0.2)
    with RunDirectory(directory.path).locked(wait=True):
        events.append("second")
    thread.join()
    assert events == ["first", "second"]


def test_what_a_killed_process_was_writing_is_removed(directory):
    (directory.path / ".writing-abc").write_bytes(b"half")
    with directory.locked():
        assert not (directory.path / ".writing-abc").exists()
