"""Public names: all are there, and they cost nothing before they are used."""

import subprocess
import sys

import pytest

import prorandconv


def printed(script):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_importing_the_package_does_not_load_torch():
    assert printed("import sys, prorandconv; print('torch' in sys.modules)") == "False"


def test_a_name_is_loaded_when_it_is_first_used():
    script = "import prorandconv as p; print(p.ProRandConv.__module__, p.transforms.__name__)"
    assert printed(script) == "prorandconv.transforms prorandconv.transforms"


@pytest.mark.parametrize("name", prorandconv.__all__)
def test_every_public_name_is_there_and_listed(name):
    assert name in dir(prorandconv)
    assert getattr(prorandconv, name) is not None


def test_a_star_import_brings_the_public_names():
    names: dict[str, object] = {}
    exec("from prorandconv import *", names)
    assert set(prorandconv.__all__) <= set(names)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'ProRandConvs'"):
        _ = prorandconv.ProRandConvs
