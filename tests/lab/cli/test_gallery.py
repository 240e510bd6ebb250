import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prorandconv.lab.cli.main import main

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "gallery"


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(["gallery", *map(str, words)])
    return ended.value.code


def test_a_picture_of_the_documents_is_what_its_command_makes(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)  # the margin has the picture's path
    original = Path("docs/gallery/originals/astronaut.webp")
    again = tmp_path / "again.webp"
    assert run(original, "--figure", "smoothing", "--output", again) == 0
    with Image.open(again) as made, Image.open(FOLDER / "astronaut-smoothing.webp") as kept:
        assert made.size == kept.size
        difference = np.abs(np.asarray(made, dtype=int) - np.asarray(kept, dtype=int))
    # Engines round differently, and the last bits grow with each repetition.
    assert difference.mean() < 0.5


def test_make_gallery_makes_every_picture_of_the_documents():
    makefile = (ROOT / "Makefile").read_text()
    names = re.search(r"GALLERY := ([^#]*?)\n\n", makefile)[1].replace("\\", "").split()
    assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.webp"))


def test_a_folder_gets_png_and_webp_of_each_picture(tmp_path, capsys):
    for name in ("a", "b"):
        Image.effect_noise((80, 60), 50).save(tmp_path / f"{name}.png")
    pictures = [tmp_path / "a.png", tmp_path / "b.png"]
    folder = tmp_path / "sheets"
    assert run(*pictures, "--figure", "smoothing", "--size", 32, "--output", folder) == 0
    expected = [f"{name}-smoothing{end}" for name in "ab" for end in (".png", ".webp")]
    assert sorted(path.name for path in folder.iterdir()) == expected
    assert capsys.readouterr().out.split() == [str(folder / name) for name in expected]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "PICTURE"),
        (("x.png", "y.png", "--output", "one.png"), "a folder, for 2 pictures"),
        (("x.png", "d/x.jpg"), "files of different names"),
        (("x.png", "--size", "8"), "32 pixels or more"),
        (("x.png",), "x.png: no such file"),
    ],
)
def test_what_cannot_be_drawn_is_refused(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
