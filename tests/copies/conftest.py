"""Small folders of pictures and masks."""

import numpy as np
import pytest
from PIL import Image

from prorandconv.lab.cli.main import main


def noise(height=14, width=18, channels=3, seed=0):
    """A picture that is neither flat nor symmetrical."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture
def photos(tmp_path):
    """Four pictures in two folders, one of them grey."""
    root = tmp_path / "photos"
    for number, name in enumerate(("cats/a.png", "cats/b.bmp", "dogs/deep/c.png")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise(14 + number, 18, seed=number)).save(root / name)
    Image.fromarray(noise(channels=1)).save(root / "dogs" / "grey.png")
    return root


@pytest.fixture
def tree_bytes():
    """Reads all files of a folder, but for the lock."""

    def read(root):
        files = [path for path in root.rglob("*") if path.is_file() and path.name != ".lock"]
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}

    return read


@pytest.fixture
def run(capsys):
    """Run the command line; returns exit code, output and errors."""

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return call
