"""How well validation ranks runs and epochs."""

import json

import pytest

from prorandconv.lab.errors import ReportError
from prorandconv.lab.report.ranking import rankings

CONFIG = {
    "benchmark": "pacs",
    "method": "erm",
    "options": {},
    "source": ["photo"],
    "network": "resnet18",
    "image_size": 128,
    "seed": 0,
    "epochs": 5,
}


@pytest.fixture
def write(tmp_path):
    """Runs whose epochs have (validation, blur, zoom, average of the targets)."""

    def make(name, lines, **changes):
        home = tmp_path / name
        home.mkdir()
        (home / "config.json").write_text(json.dumps(CONFIG | changes))
        stored = []
        for epoch, (val, blur, zoom, average) in enumerate(lines, 1):
            line = {"epoch": epoch, "val_accuracy": val, "shifted": {"blur": blur, "zoom": zoom}}
            stored.append(line if average is None else line | {"average": average})
        (home / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in stored))

    return make


def test_runs_are_ranked_by_their_last_weights(write, tmp_path):
    for number, (val, blur, average) in enumerate([(4, 1, 10), (3, 2, 20), (2, 3, 30), (1, 4, 40)]):
        write(str(number), [(9, 9, 9, None), (val, blur, blur, average)])
    (found,) = rankings(tmp_path)
    assert (found.over, found.runs, found.figures) == ("runs", 4, 4)
    assert found.where == "pacs photo, resnet18, 128 pixels"
    assert (found.val, found.val_shifted) == (pytest.approx(-1), pytest.approx(1))


def test_a_result_that_was_kept_without_its_metrics_counts(write, tmp_path):
    for number in range(4):
        write(str(number), [(number, -number, -number, number)])
    (tmp_path / "3" / "metrics.jsonl").unlink()
    with pytest.raises(ReportError):
        rankings(tmp_path)
    last = {"epoch": 5, "val_accuracy": 9.0, "val_shifted": 9.0, "average": 9.0}
    empty = {"averaged": [], "absent": [], "classes": [], "data": {}}
    result = {"config": CONFIG, "best_validation": last | {"targets": {}}, "last": last, **empty}
    (tmp_path / "3" / "result.json").write_text(json.dumps(result))
    (found,) = rankings(tmp_path)
    assert (found.runs, found.val, found.val_shifted) == (4, pytest.approx(1), pytest.approx(0.2))
    with pytest.raises(ReportError):  # a family cannot be taken out of a mean
        rankings(tmp_path, ["zoom"])


def test_epochs_are_ranked_within_each_run_and_averaged(write, tmp_path):
    rising = [(n, n, n, n) for n in range(1, 6)]
    write("a", rising)
    write("b", [(6 - n, n, n, n) for n in range(1, 6)])
    write("short", rising[:3])
    (found,) = rankings(tmp_path)
    assert (found.over, found.runs, found.figures) == ("epochs", 2, 10)
    assert (found.val, found.val_shifted) == (pytest.approx(0), pytest.approx(1))


def test_a_family_can_be_left_out(write, tmp_path):
    write("a", [(1, n, -3 * n, n) for n in range(1, 6)])
    assert rankings(tmp_path)[0].val_shifted == pytest.approx(-1)
    assert rankings(tmp_path, ["zoom"])[0].val_shifted == pytest.approx(1)
    assert rankings(tmp_path)[0].val == 0.0


def test_other_data_is_ranked_by_itself(write, tmp_path):
    for number in range(4):
        lines = [(number, number, number, number)]
        write(f"photo{number}", lines)
        write(f"sketch{number}", lines, source=["sketch"])
    assert [found.where.split(",")[0] for found in rankings(tmp_path)] == [
        "pacs photo",
        "pacs sketch",
    ]


def test_too_few_figures_are_not_ranked(write, tmp_path):
    write("a", [(1, 1, 1, None)] * 5)
    write("b", [(1, 1, 1, 1)])
    with pytest.raises(ReportError, match=r"no 4 runs of one kind.*--shifted-validation"):
        rankings(tmp_path)
