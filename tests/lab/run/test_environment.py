import sys

import torch

from prorandconv.lab.run.environment import environment


def test_a_command_is_told_without_the_place_of_the_program(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/prorandconv", "train", "--seed", "1"])
    told = environment(torch.device("cpu"), 1)["command"]
    assert told == ["prorandconv", "train", "--seed", "1"]
