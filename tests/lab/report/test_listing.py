"""Runs in a folder, listed: what is read of each, and what state it is in."""

import json
import os
import time

import pytest
from filelock import FileLock

from prorandconv.lab.report.listing import list_runs

CONFIG = {
    "benchmark": "digits-mini",
    "method": "pro-randconv",
    "options": {"max_repeats": 5, "kernel_size": 3},
    "source": ["mnist"],
    "network": "lenet",
    "seed": 2,
    "epochs": 4,
}


@pytest.fixture
def write(tmp_path):
    def make(name, *, epochs=2, result=False, **changes):
        home = tmp_path / name
        home.mkdir()
        config = CONFIG | changes
        (home / "config.json").write_text(json.dumps(config))
        lines = [{"epoch": n, "val_accuracy": 90.0 + n} for n in range(1, epochs + 1)]
        (home / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if result:
            found = {"fonts": [[2, 3], [3, 2]], "numbers": [[5, 0], [5, 0]]}
            targets = {
                name: {"accuracy": 0.0, "confusion": counts} for name, counts in found.items()
            }
            best = {"epoch": 3, "val_accuracy": 93.5, "average": 45.0, "targets": targets}
            names = {
                "averaged": list(found),
                "absent": [],
                "classes": ["0", "1"],
                "data": {},
                "hash": name,
            }
            stored = {
                "hash": name,
                "config": config,
                "best_validation": best,
                "last": best,
                **names,
            }
            (home / "result.json").write_text(json.dumps(stored))
        return home

    return make


def test_a_finished_run_has_the_accuracies_of_its_best_weights(write, tmp_path):
    write("a", epochs=4, result=True)
    (one,) = list_runs(tmp_path)
    assert (one.status, one.method, one.options) == ("done", "pro-randconv", {"max_repeats": 5})
    assert (one.benchmark, one.source, one.seed) == ("digits-mini", ("mnist",), 2)
    assert (one.epoch, one.epochs, one.validation, one.average) == (4, 4, 93.5, 45.0)
    assert one.targets == {"fonts": 40.0, "numbers": 50.0}


def test_a_run_under_way_has_its_last_validation_accuracy_and_no_targets(write, tmp_path):
    (write("a") / "state.pt").touch()
    (one,) = list_runs(tmp_path)
    assert (one.status, one.epoch, one.validation, one.average) == ("stopped", 2, 92.0, None)


def test_a_run_that_segments_is_listed_with_its_own_metric(write, tmp_path):
    home = write("a", task="segmentation")
    (home / "metrics.jsonl").write_text('{"epoch": 1, "val_miou": 40.5}\n')
    write("b")
    assert [(one.metric, one.validation) for one in list_runs(tmp_path)] == [
        ("miou", 40.5),
        ("accuracy", 92.0),
    ]


def test_states_of_unfinished_runs(write, tmp_path):
    write("begun", epochs=0)
    (write("diverged") / "nan-rank0.pt").touch()
    (write("stopped") / "state.pt").touch()
    with FileLock(write("used") / ".lock"):
        found = [one.status for one in list_runs(tmp_path)]
    assert found == ["empty", "diverged", "stopped", "running"]


def test_the_age_is_that_of_the_latest_file(write, tmp_path):
    home = write("a", result=True)
    for path in home.iterdir():
        os.utime(path, (time.time() - 7200,) * 2)
    os.utime(home / "result.json", (time.time() - 3600,) * 2)
    (one,) = list_runs(tmp_path)
    assert one.age == pytest.approx(3600, abs=60)


def test_what_cannot_be_read_is_listed_as_damaged_and_the_others_stay(write, tmp_path):
    write("a", result=True)
    (write("b", result=True) / "result.json").write_text("{}")
    (write("c") / "config.json").write_text('{"some": "other program"}')
    found = list_runs(tmp_path)
    assert [one.status for one in found] == ["done", "damaged", "damaged"]
    assert found[1].problems == ("result.json is damaged (config: Field required)",)
    assert found[2].problems == ("config.json is not a run's config (benchmark: Field required)",)


def test_a_damaged_line_of_metrics_is_told_beside_what_is_left(write, tmp_path):
    with open(write("a") / "metrics.jsonl", "a") as file:
        file.write('{"epoch": 3')
    (one,) = list_runs(tmp_path)
    assert one.epoch == 2
    assert one.problems == ("metrics.jsonl: line 3 is damaged and left out",)


def test_a_method_of_somebody_else_is_named_and_not_imported(write, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    write("a", method="evil:loss", options={"power": 2})
    (one,) = list_runs(tmp_path)
    assert (one.method, one.options) == ("evil:loss", {"power": 2})


def test_what_else_tells_runs_apart_is_listed(write, tmp_path):
    write("a", jitter=0.5, average="ema", image_size=None)
    (one,) = list_runs(tmp_path)
    assert one.options == {"max_repeats": 5, "average": "ema", "jitter": 0.5}
