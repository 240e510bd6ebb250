import signal
import sys

import pytest
import torch

from prorandconv.lab.run.environment import StopRequest, environment


def test_a_command_is_told_without_the_place_of_the_program(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/prorandconv", "train", "--seed", "1"])
    told = environment(torch.device("cpu"), 1)["command"]
    assert told == ["prorandconv", "train", "--seed", "1"]


def test_only_a_second_ctrl_c_does_not_wait():
    stop = StopRequest()
    assert not stop
    stop(signal.SIGINT, None)
    assert stop
    stop(signal.SIGTERM, None)
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGINT, None)
