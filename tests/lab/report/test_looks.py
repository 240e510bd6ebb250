from itertools import combinations

import numpy as np
import pytest

from prorandconv.lab.paper import label
from prorandconv.lab.report.looks import LOOKS, OTHERS, labelled, looks
from prorandconv.lab.study.settings import Settings
from prorandconv.lab.study.studies import get_study

DEUTERANOPIA = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)
"""Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB."""
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = TO_XYZ.sum(1)


def linear(colour):
    plain = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(plain <= 0.04045, plain / 12.92, ((plain + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB."""
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colours, seen):
    """The least distance of two colours, each seen through a matrix."""
    found = [lab(seen @ linear(colour)) for colour in colours]
    return min(np.linalg.norm(one - other) for one, other in combinations(found, 2))


@pytest.mark.parametrize("seen", [np.eye(3), DEUTERANOPIA], ids=["all cones", "deuteranopia"])
def test_the_papers_methods_are_told_apart_by_colour(seen):
    assert nearest([look.colour for look in LOOKS.values()], seen) > 20


def test_the_distance_finds_colours_that_turn_grey():
    assert nearest(["#7f7f7f", "#009e73"], np.eye(3)) > 20
    assert nearest(["#7f7f7f", "#009e73"], DEUTERANOPIA) < 10


def test_looks_differ_in_colour_and_marker():
    every = [*LOOKS.values(), *OTHERS]
    assert len({look.colour for look in every}) == len({look.marker for look in every}) == 7


def test_a_row_without_a_look_gets_one_that_no_other_row_has():
    found = looks(["a", "Pro-RandConv", "b", "c"])
    assert found["Pro-RandConv"] == LOOKS["Pro-RandConv"]
    assert len(set(found.values())) == 4


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("erm", "ERM"),
        ("Baseline (ERM)", "ERM"),
        ("pro-randconv", "Pro-RandConv"),
        ("progressive (weights different)", "Progressive (Diff)"),
        ("progressive (bound none)", "Progressive (bound none)"),
        ("own_lab:weighted", "own_lab:weighted"),
    ],
)
def test_a_method_has_one_label(row, shown):
    assert label(row) == shown


def test_a_method_for_segmentation_is_called_as_in_its_study():
    (table,) = get_study("segmentation").plan(Settings(everything=True)).tables
    assert all(label(row.name) == label(row.method) for row in table.rows)


def test_a_table_keeps_its_figures_under_its_labels(make_table):
    rows = ("erm", "pro-randconv")
    cells = {
        (rows[row != "ERM"], column): cell for (row, column), cell in make_table().cells.items()
    }
    assert labelled(make_table(rows=rows, cells=cells, baseline="erm")) == make_table()


def test_rows_that_would_be_called_the_same_keep_their_names(make_table):
    table = make_table(rows=("erm", "ERM"), cells={}, baseline="erm")
    assert labelled(table) is table
