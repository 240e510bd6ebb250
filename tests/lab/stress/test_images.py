"""The images that a model is tested with have its classes, in the order of its outputs."""

import pytest
import torch
from PIL import Image

from prorandconv import ProRandConvError
from prorandconv.lab.data import ImageFormat
from prorandconv.lab.stress.images import images_for
from prorandconv.lab.stress.model import Model

FORMAT = ImageFormat(8, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), base_augmentation=False)


def model(outputs=3, classes=None):
    return Model(
        "own", lambda x: x.new_zeros(len(x), outputs), torch.device("cpu"), FORMAT, classes
    )


@pytest.fixture
def folder(tmp_path):
    """Three classes with one, two and three images."""
    for count, name in enumerate(("cat", "dog", "Sea Lion"), 1):
        (tmp_path / name).mkdir()
        for number in range(count):
            Image.new("RGB", (9, 12), (60 * count, 0, number)).save(
                tmp_path / name / f"{number}.png"
            )
    return tmp_path


def test_folders_are_classes_by_name(folder):
    images = images_for(model(), str(folder), 100)
    assert images.classes == ("Sea Lion", "cat", "dog")
    assert images.labels.tolist() == [0, 0, 0, 1, 2, 2]
    ((batch, _),) = images.batches(10)
    assert batch.shape == (6, 3, 8, 8)


def test_classes_of_the_model_decide_the_labels_and_may_lack_images(folder):
    own = model(4, ("dog", "emu", "sea_lion", "cat"))
    images = images_for(own, str(folder), 100)
    assert images.classes == own.classes
    assert images.labels.tolist() == [2, 2, 2, 3, 0, 0]


def test_as_many_images_as_asked_for(folder):
    assert len(images_for(model(), str(folder), 2)) == 2


@pytest.mark.parametrize(
    ("changes", "limit", "message"),
    [
        ({"outputs": 10}, 9, "DATA: got '3 class folders', expected 10, one for each output"),
        ({"outputs": 2, "classes": ("a", "b", "c")}, 9, "--classes: got '3 names', expected 2"),
        ({"classes": ("cat", "dogs", "sea lion")}, 9, "dog: not one of the model's .*did you mean"),
        ({}, 0, "--images: got 0"),
    ],
)
def test_classes_that_do_not_fit_are_refused_by_name(folder, changes, limit, message):
    with pytest.raises(ProRandConvError, match=message):
        images_for(model(**changes), str(folder), limit)


def test_a_torn_image_is_refused_by_name(folder):
    (folder / "cat" / "torn.png").write_bytes((folder / "cat" / "0.png").read_bytes()[:40])
    with pytest.raises(ProRandConvError, match=r"torn\.png"):
        images_for(model(), str(folder), 9)


def test_no_folder_and_no_classes_are_refused(tmp_path):
    with pytest.raises(ProRandConvError, match=r"DATA: got '.*missing', expected a folder"):
        images_for(model(), str(tmp_path / "missing"), 9)
    with pytest.raises(ProRandConvError, match="holds no folders; expected <class>/<image>"):
        images_for(model(), str(tmp_path), 9)
