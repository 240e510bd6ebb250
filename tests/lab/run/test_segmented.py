"""Segmented image files."""

import json

import numpy as np
import pytest
from PIL import Image

from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.run.training import train


@pytest.fixture
def folder(small_segmentation, tmp_path):
    config = small_segmentation("erm", epochs=1, train_images=16)
    train(config, Execution(runs=tmp_path / "runs", quiet=True))
    return config.directory(tmp_path / "runs")


@pytest.fixture
def pictures(tmp_path):
    home = tmp_path / "pictures"
    for name, size in (("a/one.png", (30, 45)), ("b/one.png", (20, 20)), ("b/grey.png", (8, 9))):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shape = size if name.endswith("grey.png") else (*size, 3)
        Image.fromarray(np.random.default_rng(0).integers(0, 256, shape, np.uint8)).save(path)
    (home / "b" / "broken.png").write_bytes(b"no image")
    return home


def test_labels_and_overlays_have_the_size_of_their_image(folder, pictures, tmp_path):
    output = tmp_path / "out"
    found = list(load_trained(folder, trust_code=True).segment([pictures], output))
    assert [one.path.name for one in found if one.problem] == ["broken.png"]
    for one in found:
        if not one.problem:
            size = Image.open(one.path).size
            labels, overlay = Image.open(one.labels), Image.open(one.overlay)
            assert labels.size == overlay.size == size
            assert np.array(labels).max() < 4
            assert sum(one.shares.values()) == pytest.approx(1)
    assert len(list(output.iterdir())) == 6  # equal names of two folders do not collide


def test_the_command_writes_files_and_says_which(folder, pictures, tmp_path, run):
    code, printed, errors = run(
        *("predict", folder, pictures / "a", "--output", tmp_path / "out"),
        *("--format", "json", "--trust-code"),
    )
    (one,) = json.loads(printed)
    assert (code, errors) == (0, "")
    assert one["labels"] == str(tmp_path / "out" / "one-labels.png")
    assert one["problem"] == ""


def test_a_bad_file_is_named_and_the_exit_code_is_1(folder, pictures, tmp_path, run):
    code, printed, errors = run(
        *("predict", folder, pictures, "--output", tmp_path / "out", "--trust-code")
    )
    assert code == 1
    assert "broken.png: not an image" in errors
    assert printed.count("-overlay.png") == 3
