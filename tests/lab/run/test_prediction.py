"""Image files to classes: folders, batches, and files that are no images."""

import pytest
import torch
from PIL import Image
from torch import nn

from prorandconv import ProRandConvError
from prorandconv.lab import tasks as classification
from prorandconv.lab.data import ImageFormat
from prorandconv.lab.run.predict import image_files, predict

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
    found = list(predict(ByColour(), FORMAT, COLOURS, files))
    assert [(one.path, one.label, one.problem) for one in found] == [
        (files[0], "blue", ""),
        (files[1], "red", ""),
    ]
    chance = torch.tensor([-4.0, -4.0, 4.0]).softmax(0)[2]
    assert found[0].probability == pytest.approx(float(chance))


def test_many_files_go_through_the_network_in_batches(folder, monkeypatch):
    monkeypatch.setattr(classification, "PIXELS", 4 * 8 * 8)
    network, files = ByColour(), sorted(folder.iterdir())
    found = [one.label for one in predict(network, FORMAT, COLOURS, files)]
    assert network.batches == [4, 4, 4, 3]
    assert found == ["blue"] * 5 + ["green"] * 5 + ["red"] * 5


def test_a_bad_file_is_told_in_its_place_and_the_others_are_classified(folder, monkeypatch):
    monkeypatch.setattr(classification, "PIXELS", 2 * 8 * 8)
    (folder / "empty.png").touch()
    (folder / "text.png").write_text("hello")
    names = ("red0.png", "empty.png", "text.png", "gone.png", "blue0.png")
    found = list(predict(ByColour(), FORMAT, COLOURS, [folder / name for name in names]))
    assert [bool(one.problem) for one in found] == [False, True, True, True, False]
    assert (found[0].label, found[4].label) == ("red", "blue")
    assert found[1].top == ()


def test_the_likeliest_classes_come_first(folder):
    (one,) = predict(ByColour(), FORMAT, COLOURS, [folder / "green1.png"], top=3)
    assert one.label == "green"
    chances = [chance for _, chance in one.top]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) == pytest.approx(1)


@pytest.mark.parametrize("top", [0, 4])
def test_a_number_of_classes_that_there_is_not_is_refused(top):
    with pytest.raises(ProRandConvError, match="top: got"):
        list(predict(ByColour(), FORMAT, COLOURS, [], top=top))


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
    (one,) = predict(ByColour(), FORMAT, COLOURS, [tmp_path])
    assert one.problem == "a folder without image files"
