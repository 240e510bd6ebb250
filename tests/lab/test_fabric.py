"""What is loaded before a run."""

import subprocess
import sys

import pytest

LOADED = """
import sys
from prorandconv.lab.run import training
from lightning_fabric.utilities import imports
print("torchmetrics" in sys.modules, imports._TORCHMETRICS_GREATER_EQUAL_1_0_0)
import torchmetrics
print(hasattr(torchmetrics, "Metric"))
"""


def test_a_run_loads_no_torchmetrics_and_everybody_knows_its_version():
    pytest.importorskip("torchmetrics")
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["False True", "True"]
