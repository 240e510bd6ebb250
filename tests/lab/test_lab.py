"""The front door of the lab."""

import subprocess
import sys

import pytest

import prorandconv.lab
from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.run.training import train


def test_the_front_door_leads_to_what_it_names():
    assert prorandconv.lab.RunConfig is RunConfig
    assert prorandconv.lab.train is train
    assert all(callable(getattr(prorandconv.lab, name)) for name in prorandconv.lab.__all__)
    assert set(prorandconv.lab.__all__) <= set(dir(prorandconv.lab))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'prorandconv\.lab' has no attribute 'trian'"):
        _ = prorandconv.lab.trian


def test_nothing_of_the_lab_is_imported_before_it_is_used():
    program = (
        "import sys, prorandconv.lab;"
        "print([n for n in sys.modules if n.startswith('prorandconv.lab.')]);"
        "prorandconv.lab.Execution;"
        "print('prorandconv.lab.run.training' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "False"], done.stderr
