from dataclasses import replace

import pytest
import summary
from cells import Cell
from measuring import spread
from summary import Goal, axes, goals, growth, over_obvious, summarised


def entry(*seconds):
    return {"seconds": list(seconds), "repeats": [5] * len(seconds), **spread(seconds)}


def test_ratio_compares_the_rounds_that_both_have_had():
    found = {"obvious": entry(10.0, 20.0), "eager": entry(1.0, 2.0, 100.0, 100.0)}
    assert over_obvious(found, "eager")["median"] == 10
    assert over_obvious({"obvious": entry(1.0), "kornia": {"failed": "absent"}}, "kornia") is None


def test_growth_compares_rounds_with_the_same_repetitions():
    cells = {
        Cell(32, 64): {"eager": entry(1.0, 9.0)},
        Cell(64, 64): {"eager": entry(4.0)},
        Cell(512, 64): {"eager": {"left_out": "slow"}},
    }
    assert growth(cells, "eager", lambda cell: cell.size**2) == pytest.approx(1)


def test_goals_are_judged_in_their_direction():
    assert Goal(32, "eager over obvious", 25, False, 26.0).verdict == "met"
    assert Goal(32, "eager over obvious", 25, False, 20.0).verdict == "short: 0.80 of the goal"
    assert Goal(32, "peak extra memory", 2, True, 1.9).verdict == "met"
    assert Goal(32, "peak extra memory", 2, True, 3.0).verdict == "1.50 times the goal"


def test_goals_take_the_figures_of_their_centre():
    cell = Cell(32, 64)
    candidates = {"obvious": entry(1.0), "eager": entry(0.1), "native": entry(0.01)}
    limit = {"seconds_at_peak": 0.001, "seconds_at_bandwidth": 0.0005}
    memory = {32: {"native": {"peak": 1.5, "kept": 0.5}}}
    found = summarised({cell: {**candidates, "erm_step": entry(0.5)}}, {32: limit}, memory, 64)
    measured = {(goal["size"], goal["title"]): goal["measured"] for goal in found["goals"]}
    assert measured[32, "eager over obvious"] == pytest.approx(10)
    assert measured[32, "native over obvious"] == pytest.approx(100)
    assert measured[32, "native, share of the CPU's limit"] == pytest.approx(55)
    assert measured[32, "augmentation / ERM step"] == pytest.approx(2)
    assert measured[32, "peak extra memory"] == 1.5
    assert measured[224, "eager over obvious"] is None
    assert len(goals({})) == 10


def test_goals_do_not_depend_on_the_words_of_their_titles(monkeypatch):
    renamed = [replace(one, title=f"goal {place}") for place, one in enumerate(summary.TARGETS)]
    monkeypatch.setattr(summary, "TARGETS", renamed)
    centre = {"over_obvious": {"eager": {"median": 9.0}, "native": {"median": 8.0}}}
    centre |= {"share_of_limit": {"native": 0.5}, "share_of_step": {"native": 0.02}}
    found = [goal.measured for goal in goals({32: centre}) if goal.size == 32]
    assert found == [9.0, 8.0, 50.0, 2.0, None]


def test_an_axis_has_the_cells_that_differ_in_one_thing():
    centre = Cell(32, 64)
    cells = {cell: {} for cell in (Cell(64, 64), centre, Cell(32, 1), Cell(32, 64, 5), Cell(8, 1))}
    size, batch, repeats = axes(cells, [centre])
    assert (size.along, size.title, list(size.cells)) == (
        "size",
        "H·W at N = 64",
        [centre, Cell(64, 64)],
    )
    assert [size.amount(cell) for cell in size.cells] == [32**2, 64**2]
    assert (batch.title, list(batch.cells)) == ("N at 32 px", [Cell(32, 1), centre])
    assert [repeats.position(cell) for cell in repeats.cells] == [5]
