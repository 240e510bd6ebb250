import dataclasses
from pathlib import Path

import pytest

from prorandconv.lab.report.read import StudyRecord, read
from prorandconv.lab.report.summary import verdict

DIGITS = Path(__file__).parents[3] / "docs" / "results" / "digits"


@pytest.fixture
def study(make_table):
    def make(settings=None, **changes):
        return StudyRecord("s", "S", (), (make_table(**changes),), settings=settings)

    return make


def test_a_study_is_told_by_its_average_gain_distance_to_the_paper_length_and_seeds():
    (record, *_) = (one for one in read(DIGITS) if one.settings["epochs"] == 20)
    assert verdict(record) == (
        "Pro-RandConv 75.4 %, +20.6 over Baseline (ERM) [19.9, 21.3], 6.4 below the paper; "
        "20 of 500 epochs, 3 seeds."
    )


def test_a_table_without_the_papers_figures_has_no_length_of_the_papers(study):
    cells = {key: dataclasses.replace(c, paper=None) for key, c in study().tables[0].cells.items()}
    assert verdict(study({"epochs": 4}, cells=cells)) == (
        "Pro-RandConv 71.5 %, +19.5 over ERM; 4 epochs, 3 seeds, some figures missing."
    )


def test_without_an_average_the_column_is_named_and_without_ours_the_best_row(study, make_table):
    cells = make_table().cells
    renamed = {(row.replace("Pro-", ""), column): cell for (row, column), cell in cells.items()}
    changed = study(rows=("ERM", "RandConv"), cells=renamed, averaged=())
    assert verdict(changed).startswith("RandConv 62.0 % on svhn, +30.0 over ERM [30.0, 30.0]")


def test_of_segmentation_the_row_with_all_of_pro_randconv_is_told(study, make_table):
    names = {"ERM": "ERM", "Pro-RandConv": "Ours-D"}
    cells = {(names[row], column): cell for (row, column), cell in make_table().cells.items()}
    better = {("Ours-C", column): cells["Ours-D", column] for _, column in cells}
    worse = {(row, column): cells["ERM", column] for row, column in cells}
    told = verdict(study(rows=("ERM", "Ours-C", "Ours-D"), cells=worse | better))
    assert told.startswith("Ours-D ")


def test_nothing_known_and_other_units_are_no_verdict(study):
    assert verdict(study(cells={})) == ""
    assert verdict(study(unit="ms")) == ""
