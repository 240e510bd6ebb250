"""How well validation ranks runs and epochs."""

import json

import pytest

from prorandconv.lab.errors import ReportError
from prorandconv.lab.report.validation import rankings


def test_runs_are_ranked_by_their_last_weights(measured, tmp_path):
    for number, (val, blur, average) in enumerate([(4, 1, 10), (3, 2, 20), (2, 3, 30), (1, 4, 40)]):
        measured(str(number), [(9, 9, 9, None), (val, blur, blur, average)])
    (found,) = rankings(tmp_path)
    assert (found.over, found.runs, found.figures) == ("runs", 4, 4)
    assert found.where == "pacs photo, resnet18, 128 pixels"
    assert (found.val, found.val_shifted) == (pytest.approx(-1), pytest.approx(1))


def test_a_result_that_was_kept_without_its_metrics_counts(measured, tmp_path):
    for number in range(4):
        measured(str(number), [(number, -number, -number, number)])
    (tmp_path / "3" / "metrics.jsonl").unlink()
    with pytest.raises(ReportError):
        rankings(tmp_path)
    last = {"epoch": 5, "val_accuracy": 9.0, "val_shifted": 9.0, "average": 9.0, "targets": {}}
    empty = {"hash": "0", "averaged": [], "absent": [], "classes": [], "data": {}}
    config = json.loads((tmp_path / "3" / "config.json").read_text())
    result = {"config": config, "best_validation": last, "last": last, **empty}
    (tmp_path / "3" / "result.json").write_text(json.dumps(result))
    (found,) = rankings(tmp_path)
    assert (found.runs, found.val, found.val_shifted) == (4, pytest.approx(1), pytest.approx(0.2))
    with pytest.raises(ReportError):  # a family cannot be taken out of a mean
        rankings(tmp_path, ["zoom"])


def test_epochs_are_ranked_within_each_run_and_averaged(measured, tmp_path):
    rising = [(n, n, n, n) for n in range(1, 6)]
    measured("a", rising)
    measured("b", [(6 - n, n, n, n) for n in range(1, 6)])
    measured("short", rising[:3])
    (found,) = rankings(tmp_path)
    assert (found.over, found.runs, found.figures) == ("epochs", 2, 10)
    assert (found.val, found.val_shifted) == (pytest.approx(0), pytest.approx(1))


def test_a_family_can_be_left_out(measured, tmp_path):
    measured("a", [(1, n, -3 * n, n) for n in range(1, 6)])
    assert rankings(tmp_path)[0].val_shifted == pytest.approx(-1)
    assert rankings(tmp_path, ["zoom"])[0].val_shifted == pytest.approx(1)
    assert rankings(tmp_path)[0].val == 0.0


def test_other_data_is_ranked_by_itself(measured, tmp_path):
    for number in range(4):
        lines = [(number, number, number, number)]
        measured(f"photo{number}", lines)
        measured(f"sketch{number}", lines, source=["sketch"])
    assert [found.where.split(",")[0] for found in rankings(tmp_path)] == [
        "pacs photo",
        "pacs sketch",
    ]


def test_too_few_figures_are_not_ranked(measured, tmp_path):
    measured("a", [(1, 1, 1, None)] * 5)
    measured("b", [(1, 1, 1, 1)])
    with pytest.raises(ReportError, match=r"no 4 runs of one kind.*--shifted-validation"):
        rankings(tmp_path)
