import numpy as np
from PIL import Image

from prorandconv.lab.sheets import GAP, TEXT, TITLE, Row, Sheet


def sheet(**parts):
    red, blue = (Image.new("RGB", (200, 200), colour) for colour in ("#ff0000", "#0000ff"))
    return Sheet("title", [Row("", [red, blue], ("one", "two")), Row("", [blue, red])], **parts)


def where(picture, colour):
    found = (np.asarray(picture) == colour).all(-1).nonzero()
    return [(int(axis.min()), int(axis.max())) for axis in found]


def test_pictures_stand_in_rows_with_every_pixel_they_have():
    drawn = sheet().drawn("")
    assert (np.asarray(drawn) == (255, 0, 0)).all(-1).sum() == 2 * 200 * 200
    top = TITLE + 5 * GAP + TEXT + GAP
    assert where(drawn.crop((0, 0, drawn.width, top + 200)), (255, 0, 0))[0] == (top, top + 199)


def test_the_margin_is_wrapped_and_makes_the_sheet_taller():
    short, long = sheet().drawn("command"), sheet().drawn("word " * 60)
    assert short.width == long.width
    assert long.height - short.height == (long.height - short.height) // 30 * 30 > 0


def test_names_move_the_pictures_to_the_right():
    red = Image.new("RGB", (100, 100), "#ff0000")
    bare, named = (Sheet("t", [Row(name, [red])]).drawn("") for name in ("", "a name"))
    assert where(named, (255, 0, 0))[1][0] > where(bare, (255, 0, 0))[1][0]
