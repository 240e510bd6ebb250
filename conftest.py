"""Runs the Python blocks of the Markdown files, and the examples of docstrings, as tests."""

import contextlib
import importlib.util
import os
import tempfile

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

os.environ |= {"HF_HUB_OFFLINE": "1", "NO_ALBUMENTATIONS_UPDATE": "1"}
"""Nothing asks a host: albumentations else does, for its version, as soon as it is imported."""
collect_ignore = ["docs/site"]
"""What builds the site needs the extra docs, and has no doctests."""
if importlib.util.find_spec("triton") is None:
    collect_ignore.append("src/prorandconv/ops/triton_kernels.py")
slow_to_import = ("huggingface", "lightning", "timm")
collect_ignore += [f"src/prorandconv/integrations/{name}.py" for name in slow_to_import]
if importlib.util.find_spec("kornia") is None:  # of the extras of dev, it alone needs Python 3.11
    collect_ignore += ["docs/integrations.md", "src/prorandconv/integrations", "tests/integrations"]


def _enter_folder(namespace):
    """Let a document write its files into a folder that goes with it."""
    namespace["_at_the_end"] = at_the_end = contextlib.ExitStack()
    folder = at_the_end.enter_context(tempfile.TemporaryDirectory())
    at_the_end.callback(os.chdir, os.getcwd())
    os.chdir(folder)


def _leave_folder(namespace):
    namespace["_at_the_end"].close()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["*.md"],
    setup=_enter_folder,
    teardown=_leave_folder,
).pytest()


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items):
    """The blocks of a document build on each other: one process runs them all, in order."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
