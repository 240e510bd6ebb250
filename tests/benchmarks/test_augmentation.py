from pathlib import Path

import pytest


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_figures_of_a_gpu_do_not_replace_the_stored_ones(device):
    augmentation = pytest.importorskip("augmentation")
    assert augmentation.default_output("cpu") == augmentation.OUTPUT
    assert augmentation.default_output(device) == Path("augmentation-cuda.json")
