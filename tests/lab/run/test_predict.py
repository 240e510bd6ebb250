"""Image files to classes: folders, batches, and files that are no images."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from prorandconv import ProRandConvError
from prorandconv.lab import tasks as classification
from prorandconv.lab.data import ImageFormat
from prorandconv.lab.run.predict import image_files, predict
from prorandconv.lab.run.trained import load_trained

FORMAT = ImageFormat(8, (0.5,) * 3, (0.5,) * 3, base_augmentation=False)
COLOURS = ("red", "green", "blue")


class ByColour(nn.Module):
    """Takes an image for the colour of which it has most."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def forward(self, x):
        self.batches.append(len(x))
        return 4 * x.mean((2, 3))


def using(network):
    """As a trained network is."""
    device = torch.device("cpu")
    return SimpleNamespace(
        network=network, format=FORMAT, classes=COLOURS, device=device, precision="32-true"
    )


@pytest.fixture
def folder(tmp_path):
    for number in range(5):
        for colour in COLOURS:
            size = (10 + number, 20)
            Image.new("RGB", size, colour if colour != "green" else "lime").save(
                tmp_path / f"{colour}{number}.png"
            )
    return tmp_path


def test_images_of_any_size_are_classified(folder):
    files = [folder / "blue3.png", folder / "red0.png"]
    found = list(predict(using(ByColour()), files))
    assert [(one.path, one.label, one.problem) for one in found] == [
        (files[0], "blue", ""),
        (files[1], "red", ""),
    ]
    chance = torch.tensor([-4.0, -4.0, 4.0]).softmax(0)[2]
    assert found[0].probability == pytest.approx(float(chance))


def test_many_files_go_through_the_network_in_batches(folder, monkeypatch):
    monkeypatch.setattr(classification, "PIXELS", 4 * 8 * 8)
    network, files = ByColour(), sorted(folder.iterdir())
    found = [one.label for one in predict(using(network), files)]
    assert network.batches == [4, 4, 4, 3]
    assert found == ["blue"] * 5 + ["green"] * 5 + ["red"] * 5


def test_a_bad_file_is_told_in_its_place_and_the_others_are_classified(folder, monkeypatch):
    monkeypatch.setattr(classification, "PIXELS", 2 * 8 * 8)
    (folder / "empty.png").touch()
    (folder / "text.png").write_text("hello")
    names = ("red0.png", "empty.png", "text.png", "gone.png", "blue0.png")
    found = list(predict(using(ByColour()), [folder / name for name in names]))
    assert [bool(one.problem) for one in found] == [False, True, True, True, False]
    assert (found[0].label, found[4].label) == ("red", "blue")
    assert found[1].top == ()


def test_the_likeliest_classes_come_first(folder):
    (one,) = predict(using(ByColour()), [folder / "green1.png"], top=3)
    assert one.label == "green"
    chances = [chance for _, chance in one.top]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) == pytest.approx(1)


@pytest.mark.parametrize("top", [0, 4])
def test_a_number_of_classes_that_there_is_not_raises_an_error(top):
    with pytest.raises(ProRandConvError, match="top: got"):
        list(predict(using(ByColour()), [], top=top))


def test_folders_are_searched_at_any_depth_and_other_files_left_out(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for path in (tmp_path / "z.jpg", inner / "x.PNG", inner / "notes.txt"):
        path.touch()
    (tmp_path / "empty").mkdir()
    assert image_files([tmp_path / "a", tmp_path / "z.jpg"]) == [
        inner / "x.PNG",
        tmp_path / "z.jpg",
    ]
    assert image_files([tmp_path / "empty"]) == [tmp_path / "empty"]


def test_a_folder_without_images_is_told(tmp_path):
    (one,) = predict(using(ByColour()), [tmp_path])
    assert one.problem == "a folder without image files"


@pytest.fixture
def segmenting(small_segmentation, trained):
    """The directory of a run that segments."""
    return trained(small_segmentation("erm"))


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


def test_labels_and_overlays_have_the_size_of_their_image(segmenting, pictures, tmp_path):
    output = tmp_path / "out"
    found = list(load_trained(segmenting, trust_code=True).segment([pictures], output))
    assert [one.path.name for one in found if one.problem] == ["broken.png"]
    for one in found:
        if not one.problem:
            size = Image.open(one.path).size
            labels, overlay = Image.open(one.labels), Image.open(one.overlay)
            assert labels.size == overlay.size == size
            assert np.array(labels).max() < 4
            assert sum(dict(one.top).values()) == pytest.approx(1)
    assert len(list(output.iterdir())) == 6  # equal names of two folders do not collide


def test_the_command_writes_files_and_says_which(segmenting, pictures, tmp_path, run):
    code, printed, errors = run(
        *("predict", segmenting, pictures / "a", "--output", tmp_path / "out"),
        *("--format", "json", "--trust-code"),
    )
    (one,) = json.loads(printed)
    assert (code, errors) == (0, "")
    assert one["labels"] == str(tmp_path / "out" / "one-labels.png")
    assert one["problem"] == ""


def test_a_bad_file_is_named_and_the_exit_code_is_1(segmenting, pictures, tmp_path, run):
    code, printed, errors = run(
        *("predict", segmenting, pictures, "--output", tmp_path / "out", "--trust-code")
    )
    assert code == 1
    assert "broken.png: not an image" in errors
    assert printed.count("-overlay.png") == 3
