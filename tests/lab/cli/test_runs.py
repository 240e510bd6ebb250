"""The commands on folders of runs: what they print, remove and return."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

CONFIG = {
    "benchmark": "digits-mini",
    "method": "pro-randconv",
    "options": {"max_repeats": 5, "selection": "augmented"},
    "source": ["mnist"],
    "network": "lenet",
    "seed": 2,
    "epochs": 500,
}


@pytest.fixture
def runs(tmp_path):
    """A finished run with a checkpoint, and one that was stopped."""
    targets = {"fonts": {"accuracy": 40.0, "confusion": [[2, 3], [3, 2]]}}
    best = {"epoch": 3, "val_accuracy": 93.5, "average": 45.25, "targets": targets}
    names = {"averaged": ["fonts"], "absent": [], "classes": ["0", "1"], "data": {}}
    result = {
        "config": CONFIG,
        "hash": "0123456789ab",
        "best_validation": best,
        "last": best,
        **names,
    }
    for name in ("0123456789ab", "ba9876543210"):
        home = tmp_path / "digits-mini" / "pro-randconv" / "mnist" / name
        home.mkdir(parents=True)
        (home / "config.json").write_text(json.dumps(CONFIG))
        (home / "metrics.jsonl").write_text('{"epoch": 123, "val_accuracy": 90.0}\n')
        (home / "state.pt").write_bytes(b"0" * 1_500_000)
    (home.parent / "0123456789ab" / "result.json").write_text(json.dumps(result))
    save_file({"weight": np.zeros(3)}, home.parent / "0123456789ab" / "best.safetensors")
    return tmp_path


def test_a_line_a_run(run, runs):
    code, out, _ = run("runs", runs)
    assert code == 0
    (done,) = (line for line in out.splitlines() if line.startswith("0123456789ab"))
    assert "pro-randconv (max_repeats 5, selection augmented)" in done
    assert done.split()[-8:-2] == ["mnist", "2", "123/500", "93.5", "45.2", "done"]
    (stopped,) = (line for line in out.splitlines() if line.startswith("ba9876543210"))
    assert stopped.split()[-4:-2] == ["90.0", "stopped"]


def test_nothing_is_cut_at_80_columns(run, runs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = run("runs", runs)[1]
    assert "…" not in out
    assert max(map(len, out.splitlines()[:-1])) <= 80
    for cell in ("0123456789ab", "pro-randconv", "augmented", "123/500", "stopped"):
        assert cell in out
    assert re.search(r"done +\d+ (s|min)\b", out)


def test_runs_as_json(run, runs):
    code, out, _ = run("runs", runs, "--json")
    done, stopped = json.loads(out)
    assert code == 0
    assert (done["status"], done["targets"], done["average"]) == ("done", {"fonts": 40.0}, 45.25)
    assert stopped["path"].endswith("ba9876543210")


def test_a_folder_that_is_not_there_is_refused(run, tmp_path):
    code, _, err = run("runs", tmp_path / "nowhere")
    assert code == 2
    assert "directory: got" in err


class TestPrune:
    def checkpoints(self, runs):
        return [path.parent.name for path in sorted(runs.rglob("state.pt"))]

    def test_a_dry_run_says_what_and_how_much_and_removes_nothing(self, run, runs):
        code, out, _ = run("prune", runs, "--dry-run")
        assert code == 0
        assert "0123456789ab: state.pt (1.5 MB)" in out
        assert "1 finished runs with checkpoints, 1.5 MB" in out
        assert self.checkpoints(runs) == ["0123456789ab", "ba9876543210"]

    def test_without_a_terminal_nothing_is_removed_unless_told(self, run, runs):
        code, out, _ = run("prune", runs)
        assert code == 1
        assert "nothing was removed" in out
        assert self.checkpoints(runs) == ["0123456789ab", "ba9876543210"]

    def test_yes_removes_the_checkpoints_of_finished_runs_only(self, run, runs):
        code, out, _ = run("prune", runs, "--yes")
        assert code == 0
        assert "removed 1.5 MB" in out
        assert self.checkpoints(runs) == ["ba9876543210"]
        assert len(list(runs.rglob("best.safetensors"))) == 1

    @pytest.mark.parametrize(("answer", "left"), [("y", 1), ("", 2)])
    def test_on_a_terminal_it_asks(self, run, runs, monkeypatch, answer, left):
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr("builtins.input", lambda question: answer)
        run("prune", runs)
        assert len(self.checkpoints(runs)) == left
