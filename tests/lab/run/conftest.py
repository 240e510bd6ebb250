"""Runs on a user's own folder, small enough for a second."""

import numpy as np
import pytest
from PIL import Image


class OwnData:
    """A folder ``domain/class/image``, a config of a run on it, and changes to it."""

    def __init__(self, root):
        self.root = root

    def config(self, **changes):
        from prorandconv.lab.run.config import RunConfig

        small = {"network": "own_lab:plain", "epochs": 1, "batch_size": 8}
        return RunConfig.paper("folder", "one", "erm", data_root=self.root, **(small | changes))

    def repaint(self, domain):
        """Other pixels in every file of a domain; names, classes and sizes stay."""
        random = np.random.default_rng(1)
        for path in (self.root / domain).rglob("*.png"):
            Image.fromarray(random.integers(0, 256, (32, 32, 3), np.uint8)).save(path)

    def rename_class(self, old, new):
        for path in list(self.root.glob(f"*/{old}")):
            path.rename(path.with_name(new))


@pytest.fixture
def own_data(mini, write, tmp_path):
    root = tmp_path / "own"
    write.tree(root, ("one", "two"), ("cat", "dog"), count=6, size=32, suffix=".png")
    return OwnData(root)
