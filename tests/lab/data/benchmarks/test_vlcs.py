"""VLCS by its names."""

import pytest


@pytest.mark.parametrize(
    ("folders", "classes"),
    [
        (
            ("VOC2007", "LabelMe", "Caltech101", "SUN09"),
            ("bird", "car", "chair", "dog", "person"),
        ),
        (("PASCAL", "LABELME", "CALTECH", "SUN"), ("0", "1", "2", "3", "4")),
    ],
)
def test_vlcs_in_its_two_spellings(open_benchmark, tmp_path, write, folders, classes):
    write.tree(tmp_path / "VLCS", folders, classes, count=2)
    found = open_benchmark("vlcs", tmp_path)
    assert found.present() == ("voc2007", "labelme", "caltech101", "sun09")
    images = found.load("sun09", "test")
    assert images.classes == ("bird", "car", "chair", "dog", "person")
    assert images.labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
