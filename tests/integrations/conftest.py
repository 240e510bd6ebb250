"""Settings for the tests of integrations."""

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items):
    """The tests of a file run in one process: some of these libraries take seconds to import."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.stem != "test_examples":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
