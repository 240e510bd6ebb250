"""How a run shows itself."""

import io
import re
import sys

import pytest

from prorandconv.lab.run import display
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.display import RunDisplay
from prorandconv.lab.run.state import Progress
from prorandconv.lab.run.training import train


def line(epoch, accuracy=91.25):
    return {"epoch": epoch, "train_loss": 0.5, "val_accuracy": accuracy, "learning_rate": 0.1}


def after(number, steps):
    """A run after some steps of 64 images, and the steps of an epoch."""
    epoch, step = divmod(number, steps)
    return Progress(epoch=epoch, step=step, images_seen=64 * step), steps


def test_redirected_output_has_a_line_an_epoch_however_short(small_run, tmp_path, capsys):
    train(small_run("erm", epochs=3), Execution(runs=tmp_path))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    for number, text in enumerate(lines, 1):
        pattern = (
            rf"digits-mini erm mnist: epoch {number}/3, loss \d\.\d+, "
            r"validation accuracy \d+\.\d %(, \d+ images/s)?, \d+ s left"
        )
        assert re.fullmatch(pattern, text), text


def test_lines_within_an_epoch_are_sparse_where_there_is_no_terminal(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("prorandconv.lab.run.display.time.monotonic", lambda: now[0])
    with RunDisplay("digits erm", epochs=2) as shown:
        shown.loss = 0.5
        for number in range(1, 201):
            now[0] += 1
            shown.step(*after(number, 100))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0] == "digits erm: epoch 1/2, loss 0.500, 64 images/s, 2 min left"


def test_nothing_is_shown_if_quiet_but_what_has_to_be_seen(capsys):
    with RunDisplay("title", epochs=1, shown=False) as shown:
        shown.step(*after(1, 2))
        shown.epoch(line(1))
        shown.say("resuming")
        shown.warn("a checkpoint is damaged")
    assert capsys.readouterr().err == "a checkpoint is damaged\n"


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_bar_leaves_room_for_what_the_terminal_shows_of_ctrl_c(monkeypatch, columns):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(display, "SECONDS_BETWEEN_UPDATES", -1.0)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with RunDisplay("title", epochs=500) as shown:
        shown.epoch(line(1))
        for number in range(3):
            shown.step(*after(122 * 10_000 + number, 10_000))
            shown._bar.refresh()
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    widths = [len(part) for part in re.split(r"[\r\n]", plain)]
    assert 40 < max(widths) <= columns - 4
