"""Which kind of run validation prefers."""

import json

import pytest

from prorandconv.lab.errors import ReportError
from prorandconv.lab.report.validation import candidates


@pytest.fixture
def finished(measured):
    """Makes runs with a result whose targets say the opposite of validation."""

    def make(name, lines, **changes):
        home = measured(name, [(*line, -line[1]) for line in lines], **changes)
        figures = {"epoch": len(lines), "val_accuracy": 1.0, "average": 99.0, "targets": {}}
        empty = {"hash": "0", "averaged": [], "absent": [], "classes": [], "data": {}}
        config = json.loads((home / "config.json").read_text())
        result = {"config": config, "best_validation": figures, "last": figures, **empty}
        (home / "result.json").write_text(json.dumps(result))

    return make


def test_runs_that_differ_in_their_seed_are_one_line_and_the_best_comes_first(finished, tmp_path):
    finished("a", [(90, 60, 40), (80, 70, 50)])
    finished("b", [(70, 80, 40)], seed=1)
    finished("c", [(50, 90, 90)], jitter=0.25, seed=3)
    found = candidates(tmp_path)
    assert [one.options for one in found] == [
        {"image_size": 128, "jitter": 0.25},
        {"image_size": 128},
    ]
    assert found[1].where == "pacs photo, resnet18, 128 pixels"
    assert (found[1].seeds, found[1].val, found[1].val_shifted) == ((0, 1), (90, 70), (60, 60))
    assert "average" not in json.dumps(found[1].to_mapping())


def test_a_family_can_be_left_out(finished, tmp_path):
    finished("a", [(1, 90, 10)], method="erm")
    finished("b", [(1, 60, 60)], method="randconv")
    assert [one.method for one in candidates(tmp_path)] == ["randconv", "erm"]
    assert [one.method for one in candidates(tmp_path, ["zoom"])] == ["erm", "randconv"]


def test_other_lengths_and_data_are_other_kinds(finished, tmp_path):
    finished("a", [(1, 1, 1)])
    finished("b", [(1, 1, 1)], epochs=9)
    finished("c", [(1, 1, 1)], source=["sketch"])
    kinds = [(one.where.split(",")[0], one.epochs) for one in candidates(tmp_path)]
    assert sorted(kinds) == [("pacs photo", 5), ("pacs photo", 9), ("pacs sketch", 5)]


def test_runs_that_are_not_done_do_not_count(measured, tmp_path):
    measured("a", [(1, 1, 1, 1)])
    with pytest.raises(ReportError, match=r"no finished run.*train with --shifted-validation"):
        candidates(tmp_path)
