"""The commands on validation: what they print and refuse."""

import json

import pytest

from prorandconv.lab.run.config import RunConfig


@pytest.fixture
def runs(tmp_path):
    """Two finished kinds of runs, one of them with two seeds."""
    kinds = [({}, 0, 80.0, 90.0), ({}, 1, 84.0, 92.0), ({"jitter": 0.25}, 0, 70.0, 95.0)]
    for number, (changes, seed, blur, zoom) in enumerate(kinds):
        config = RunConfig.paper("digits-mini", epochs=1, seed=seed, **changes).to_mapping()
        shifted = {"blur": blur, "zoom-and-shift": zoom}
        line = {"epoch": 1, "val_accuracy": 90.0, "shifted": shifted, "average": 40.0 + number}
        figures = {"epoch": 1, "val_accuracy": 90.0, "average": 40.0 + number, "targets": {}}
        empty = {"hash": str(number), "averaged": [], "absent": [], "classes": [], "data": {}}
        result = {"config": config, "best_validation": figures, "last": figures, **empty}
        home = tmp_path / str(number)
        home.mkdir()
        for name, content in (("config", config), ("result", result)):
            (home / f"{name}.json").write_text(json.dumps(content))
        (home / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    return tmp_path


def test_kinds_of_runs_are_listed_by_shifted_validation(run, runs):
    code, out, _ = run("choose", runs)
    lines = [line.split() for line in out.splitlines()[1:]]
    assert code == 0
    assert [line[-4:] for line in lines] == [
        ["1", "2", "90.00", "86.50"],
        ["1", "1", "90.00", "82.50"],
    ]
    assert "jitter 0.25" in out.splitlines()[2]


def test_a_family_is_left_out_or_refused_with_the_nearest_name(run, runs):
    code, out, _ = run("choose", runs, "--without", "zoom-and-shift", "--json")
    assert code == 0
    assert [one["val_shifted"] for one in json.loads(out)] == [[80.0, 84.0], [70.0]]
    for command in ("choose", "rank"):
        code, _, err = run(command, runs, "--without", "zoom-and-shfit")
        assert code == 2
        assert "did you mean 'zoom-and-shift'?" in err
