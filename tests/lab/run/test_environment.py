import subprocess
import sys

import pytest
import torch

from prorandconv.lab.run.environment import environment


def test_a_command_is_told_without_the_place_of_the_program(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/prorandconv", "train", "--seed", "1"])
    told = environment(torch.device("cpu"), 1)["command"]
    assert told == ["prorandconv", "train", "--seed", "1"]


PAGES = """
import resource, sys, torch
from prorandconv.lab.run.environment import keep_freed_memory
if "kept" in sys.argv:
    keep_freed_memory()
def fill():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**23)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
for _ in range(20):
    fill()
print(fill())
"""
"""How many pages the system hands out for a tensor of 32 MB, after others of its size.

The first few may not fit where the one before was: glibc keeps seven small pieces beside them.
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other allocators")
def test_memory_that_a_tensor_has_freed_serves_the_next_one():
    def pages(*arguments):
        command = [sys.executable, "-c", PAGES, *arguments]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert pages() > 10 * max(pages("kept"), 1)
