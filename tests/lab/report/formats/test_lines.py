import pytest

from prorandconv.lab.report.formats.lines import (
    BOLD,
    BOLD_OF_FEW,
    Digits,
    best,
    footnotes,
    heading,
    lines,
)
from prorandconv.lab.study.table import AVERAGE, Cell, Table


@pytest.fixture
def table(make_table):
    return make_table()


def shown(table, row):
    return {line.kind: dict(line.texts) for line in lines(table, row)}


def test_a_row_tells_mean_interval_paper_and_gain(table):
    text = shown(table, "Pro-RandConv")
    assert text["mean"] == {
        "svhn": "62.00 ± 2.00",
        "usps": "81.00 ± 1.41 (2 of 3)",
        AVERAGE: "71.50 ± 2.12 (2 of 3)",
    }
    assert text["interval"]["svhn"] == "[57.03, 66.97]"
    assert text["paper"]["svhn"] == "69.70 (−7.70)"
    assert text["gain"] == {"svhn": "+30.00", "usps": "+9.00", AVERAGE: "+19.50"}
    assert text["gain interval"]["svhn"] == "[30.00, 30.00]"
    assert text["interval"]["usps"] == "80.00; 82.00"  # two values are no interval
    assert text["gain interval"]["usps"] == "10.00; 8.00"


def test_the_baseline_has_no_gain_over_itself(table):
    assert set(shown(table, "ERM")) == {"mean", "interval", "paper"}


def test_one_seed_has_neither_spread_nor_interval(table, make_table):
    cells = {key: Cell(cell.values[:1], cell.paper) for key, cell in table.cells.items()}
    text = shown(make_table(seeds=(0,), cells=cells), "Pro-RandConv")
    assert text["mean"]["svhn"] == "60.00"
    assert text["gain"]["svhn"] == "+30.00"
    assert "interval" not in text


def test_two_seeds_show_their_values_instead_of_an_interval(table, make_table):
    cells = {key: Cell(cell.values[:2], cell.paper) for key, cell in table.cells.items()}
    two = make_table(seeds=(0, 1), cells=cells)
    text = {line.label: line.texts for line in lines(two, "ERM")}
    assert text["single values"]["svhn"] == "30.00; 32.00"
    assert "95 % interval" not in text


def test_an_interval_of_accuracies_ends_at_0_and_100(make_table):
    cells = {("ERM", "svhn"): Cell((0.5, 1.0, 9.0)), ("ERM", "usps"): Cell((99.0, 92.0, 99.9))}
    text = shown(make_table(cells=cells, averaged=()), "ERM")["interval"]
    assert text["svhn"].startswith("[0.00, ")
    assert text["usps"].endswith(", 100.00]")
    other = shown(make_table(cells=cells, averaged=(), unit="ms"), "ERM")["interval"]
    assert other["svhn"].startswith("[−")


def test_a_missing_figure_is_a_dash(make_table):
    text = shown(make_table(cells={}), "ERM")
    assert text == {"mean": {"svhn": "–", "usps": "–", AVERAGE: "–"}}


def test_best_is_the_highest_per_cent_of_a_column(table, make_table):
    assert best(table, "svhn") == ("Pro-RandConv",)
    assert best(make_table(unit="ms"), "svhn") == ()


def test_what_is_not_separable_from_the_best_is_as_bold(make_table):
    cells = {
        ("best", "svhn"): Cell((60.0, 62.0, 64.0)),
        ("always one less", "svhn"): Cell((59.0, 61.0, 63.0)),
        ("now more, now less", "svhn"): Cell((62.0, 58.0, 65.0)),
    }
    rows = tuple(row for row, _ in cells)
    table = make_table(rows=rows, cells=cells, baseline=None, columns=("svhn",), averaged=())
    assert best(table, "svhn") == ("best", "now more, now less")
    assert footnotes(table)[1] == BOLD


def test_of_two_seeds_the_highest_mean_alone_is_bold(make_table):
    cells = {("a", "svhn"): Cell((60.0, 64.0)), ("b", "svhn"): Cell((62.0, 61.0))}
    own = {"columns": ("svhn",), "averaged": (), "baseline": None}
    table = make_table(rows=("a", "b"), seeds=(0, 1), cells=cells, **own)
    assert best(table, "svhn") == ("a",)
    assert footnotes(table)[1] == BOLD_OF_FEW


def test_digits_follow_the_figures_where_the_unit_is_not_per_cent():
    cells = {
        ("a", "memory"): Cell((1234.0,)),
        ("b", "memory"): Cell((987.0,)),
        ("a", "seconds"): Cell((0.01234,)),
        ("b", "seconds"): Cell((0.0456,)),
    }
    table = Table("t", "T", "", ("a", "b"), ("memory", "seconds"), (0,), cells, unit="")
    assert shown(table, "a")["mean"] == {"memory": "1234", "seconds": "0.0123"}
    assert Digits.of(table, "nothing") == Digits(0)


def test_signs_are_shown_where_a_difference_is():
    assert Digits(1).signed(2.0) == "+2.0"
    assert Digits(1).signed(-2.0) == "−2.0"
    assert Digits(1).signed(-0.01) == "0.0"


def test_the_papers_table_is_named_over_its_own_figures_only(table, make_table):
    cells = {key: Cell(cell.values) for key, cell in table.cells.items()}
    other = make_table(cells=cells, notes=())
    assert heading(other) == "Digits, %"
    assert footnotes(other)[-1] == (
        "set up like the paper's Table 1, without figures to compare with"
    )
    assert not any("set up like" in note for note in footnotes(table))


def test_heading_and_notes_say_unit_reference_seeds_and_what_is_missing(table):
    assert heading(table) == "Digits, % (Table 1)"
    assert footnotes(table) == (
        "mean ± standard deviation over seeds 0, 1, 2",
        "1 of 12 figures are missing",
        BOLD,
        "two values stand for an interval where no more are known",
        "absent: syn",
    )
