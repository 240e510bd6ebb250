import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.layout_engine import ConstrainedLayoutEngine

from prorandconv.lab.report.compare import comparisons
from prorandconv.lab.report.curves import (
    DARK_INK,
    GROUND,
    INK,
    PHONE_WIDTH,
    SOURCE,
    STYLE,
    curve,
    learning_curves,
    new_figure,
    render,
    themed,
)
from prorandconv.lab.report.looks import LOOKS, labelled_rows
from prorandconv.lab.report.pictures import Picture
from prorandconv.lab.report.plots import table_plot
from prorandconv.lab.report.read import ReportedRun
from prorandconv.lab.study.table import Axis, Cell


def labels(axes):
    return [text.get_text() for text in axes.texts]


class TestTablePlots:
    def test_dots_are_means_on_one_scale_with_intervals_and_the_papers_are_hollow(self, make_table):
        (axes,) = table_plot(make_table()).axes
        ticks = [tick.get_text() for tick in axes.get_yticklabels()]
        assert ticks == ["average", "svhn", "usps"]
        ours = LOOKS["Pro-RandConv"]
        marks = [line for line in axes.lines if line.get_color() == ours.colour]
        dots = [line for line in marks if line.get_marker() == ours.marker]
        filled = [d.get_xdata()[0] for d in dots if d.get_markerfacecolor() == ours.colour]
        hollow = [d.get_xdata()[0] for d in dots if d.get_markerfacecolor() == GROUND]
        assert filled == [71.5, 62.0, 81.0]
        assert hollow == pytest.approx([81.7, 69.7, 93.7])
        intervals = [list(line.get_xdata()) for line in marks if line not in dots]
        assert intervals[1] == pytest.approx([57.032, 66.968], abs=1e-3)

    def test_bars_are_means_and_marks_are_the_papers(self, make_table):
        panels = table_plot(make_table(unit="ms")).axes
        assert [axes.get_title(loc="left") for axes in panels] == ["average", "svhn", "usps"]
        assert [bar.get_width() for bar in panels[1].patches] == [32, 62]
        marks = [line.get_xdata()[0] for line in panels[1].lines if line.get_marker() == "D"]
        assert marks == [32.5, 69.7]
        assert labels(panels[1]) == ["32.0", "62.0"]
        assert [tick.get_text() for tick in panels[0].get_yticklabels()] == ["ERM", "Pro-RandConv"]

    def test_every_bar_is_within_its_panel(self, make_table):
        for axes in table_plot(make_table(unit="ms")).axes:
            assert axes.get_xlim()[1] > max(bar.get_width() for bar in axes.patches)
            bottom, top = axes.get_ylim()
            assert bottom > 1
            assert top < 0

    def test_numbers_on_an_axis_make_curves_with_names_at_their_ends(self, make_table):
        figure = table_plot(make_table(axis=Axis("kernel size", (3.0, 7.0)), averaged=()))
        (axes,) = figure.axes
        ours = [line for line in axes.lines if line.get_linestyle() != ":"]
        assert [list(line.get_xdata()) for line in ours] == [[3, 7]] * 2
        assert [list(line.get_ydata()) for line in ours] == [[32, 72], [62, 81]]
        paper = [list(line.get_ydata()) for line in axes.lines if line.get_linestyle() == ":"]
        assert paper == [[32.5, 78.2], [69.7, 93.7]]
        assert sorted(labels(axes)) == ["ERM", "Pro-RandConv"]
        assert axes.get_xlabel() == "kernel size"

    def test_names_at_the_ends_of_close_curves_keep_a_distance(self, make_table):
        cells = {(str(row), "svhn"): Cell((50.0 + row / 100,)) for row in range(5)}
        cells["0", "usps"] = Cell((90.0,))
        rows = tuple(map(str, range(5)))
        changes = {"rows": rows, "cells": cells, "seeds": (0,), "baseline": None, "averaged": ()}
        (axes,) = table_plot(make_table(axis=Axis("x", (1.0, 2.0)), **changes)).axes
        heights = sorted(text.get_position()[1] for text in axes.texts)
        low, high = axes.get_ylim()
        assert min(np.diff(heights)) > 0.05 * (high - low)

    def test_nothing_known_is_no_plot(self, make_table):
        assert table_plot(make_table(cells={})) is None


@pytest.fixture
def comparison(write_run, tmp_path):
    def make(*methods, seeds=(0, 1), **changes):
        homes = [write_run(tmp_path, m, s, **changes) for m in methods for s in seeds]
        return comparisons([ReportedRun.read(home) for home in homes])[0]

    return make


class TestLearningCurves:
    def test_a_method_looks_the_same_in_every_plot(self, comparison, make_table):
        (figure,) = learning_curves(labelled_rows(comparison("pro-randconv", "randconv")))
        drawn = {line.get_label(): line.get_color() for line in figure.axes[0].lines}
        assert drawn == {name: LOOKS[name].colour for name in ("Pro-RandConv", "RandConv")}
        bars = table_plot(make_table(unit="ms")).axes[1].patches
        assert to_hex(bars[1].get_facecolor()) == LOOKS["Pro-RandConv"].colour

    def test_a_curve_is_the_mean_over_seeds_at_the_epochs_measured(self, comparison):
        runs = comparison("erm").rows["erm"].values()
        assert {e: found.mean for e, found in curve(runs, "fonts").items()} == {2: 43.0, 4: 45.0}
        assert list(curve(runs, SOURCE)) == [1, 2, 3, 4]
        assert curve(runs, SOURCE)[1].deviation == pytest.approx(0.5**0.5)

    def test_a_panel_for_the_source_and_each_target(self, comparison):
        (figure,) = learning_curves(comparison("erm", "pro-randconv", epochs=6))
        shown = [axes for axes in figure.axes if axes.get_visible()]
        assert [axes.get_title(loc="left") for axes in shown] == [SOURCE, "optdigits", "fonts"]
        assert [len(axes.lines) for axes in shown] == [2, 2, 2]
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert names == ["erm", "pro-randconv"]

    def test_curves_of_fewer_than_three_points_are_left_out(self, comparison):
        (figure,) = learning_curves(comparison("erm", epochs=4))  # targets at epochs 2 and 4
        assert [axes.get_title(loc="left") for axes in figure.axes] == [SOURCE]

    def test_no_curve_of_three_points_is_no_figure(self, comparison):
        assert learning_curves(comparison("erm", epochs=2)) == []

    def test_many_methods_go_into_several_figures_each_with_the_baseline(self, comparison):
        others = ["color-jitter", "grayscale", "perspective", "rotate", "autoaugment"]
        found = learning_curves(comparison("erm", "randconv", "progressive", *others, seeds=(0,)))
        names = [[t.get_text() for t in figure.legends[0].get_texts()] for figure in found]
        assert [len(own) for own in names] == [7, 2]
        assert [own[0] for own in names] == ["erm", "erm"]


def test_a_plot_is_arranged_once_for_both_of_its_forms(make_table, monkeypatch, tmp_path):
    arranged = []
    execute = ConstrainedLayoutEngine.execute

    def count(engine, figure):
        arranged.append(figure)
        return execute(engine, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", count)
    figure = table_plot(make_table())
    shown = Picture.plot(figure, tmp_path / "plot", "a plot")
    assert arranged == [figure]
    assert shown.address.startswith("data:image/svg+xml")
    assert (tmp_path / "plot.png").exists()


def test_a_drawing_in_a_page_follows_light_and_dark(make_table):
    drawing = render(table_plot(make_table()), "svg")
    assert drawing == render(table_plot(make_table()), "svg")
    shown = themed(drawing).decode()
    assert shown.count(INK) == 1
    assert re.search(rf"prefers-color-scheme:dark\){{svg{{--ink:{DARK_INK}", shown)
    assert "fill: var(--ink)" in shown


def test_bars_for_a_phone_stand_below_each_other(make_table):
    times = make_table(unit="ms", averaged=())
    assert_narrower(table_plot(times), table_plot(times, 1))


def test_curves_for_a_phone_stand_below_each_other(comparison):
    runs = comparison("erm", epochs=6)
    (wide,), (narrow,) = (learning_curves(runs, panels) for panels in (3, 1))
    assert_narrower(wide, narrow)


def test_letters_have_at_least_eleven_pixels_on_a_phone(make_table, comparison):
    lines = make_table(axis=Axis("kernel size", (1.0, 3.0)))
    plots = [table_plot(table, 1) for table in (make_table(), make_table(unit="ms"), lines)]
    plots += learning_curves(comparison("erm", epochs=6), 1)
    assert {plot.get_figwidth() for plot in plots} == {PHONE_WIDTH}
    shown = min(1, (390 - 2 * 16) / (PHONE_WIDTH * 96))  # the page has a margin of 16 pixels
    assert STYLE["font.size"] * 96 / 72 * shown >= 11


def assert_narrower(wide, narrow):
    assert len(wide.axes) == len(narrow.axes) > 1
    assert wide.axes[0].get_gridspec().ncols > 1
    assert narrow.axes[0].get_gridspec().ncols == 1
    assert narrow.get_figwidth() < wide.get_figwidth()


def test_a_page_gets_the_narrow_plot_beside_the_wide_one(tmp_path):
    wide, narrow = new_figure(6, 2), new_figure(3, 4)
    shown = Picture.plot(wide, tmp_path / "plot", "a plot", narrow)
    assert shown.narrow.startswith("data:image/svg+xml")
    assert shown.narrow != shown.address
    assert Picture.plot(wide, tmp_path / "plot", "a plot").narrow == ""
