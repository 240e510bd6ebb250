"""Settings for all tests."""

import os

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile(
    "prorandconv", deadline=None, max_examples=25, derandomize=True, print_blob=True
)
hypothesis.settings.load_profile("prorandconv")
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
