"""Progress off a terminal."""

import pytest

from prorandconv.lab import progress as module
from prorandconv.lab.progress import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_lines_are_sparse_and_tell_the_time_left(clock, capsys):
    with progress("decoding pacs", 1000, unit="images") as advance:
        for _ in range(60):
            clock[0] += 1
            advance(10)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "decoding pacs: 100 of 1,000 images, about 90 s left"
    assert len(lines) == 6


def test_quick_work_says_nothing(clock, capsys):
    with progress("reading", 3) as advance:
        for _ in range(3):
            clock[0] += 1
            advance(1)
    assert capsys.readouterr().err == ""


def test_resumed_work_counts_time_for_new_steps_only(clock, capsys):
    with progress("fetching", 1000, unit="bytes", completed=800) as advance:
        clock[0] += 20
        advance(100)
    assert "900 of 1,000 bytes, about 20 s left" in capsys.readouterr().err


def test_on_a_terminal_there_is_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress("decoding", 3) as advance:
        advance(3)
    assert "decoding" in capsys.readouterr().err
