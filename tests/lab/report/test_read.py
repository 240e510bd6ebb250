import json
import os
import shutil
import sys

import pytest

from prorandconv import ProRandConvError
from prorandconv.lab.report.page import write_report
from prorandconv.lab.report.read import ReportedRun, read
from prorandconv.lab.report.summary import provenance
from prorandconv.lab.run.directory import note


def test_a_run_tells_its_targets_time_and_last_epoch(write_run, tmp_path):
    run = ReportedRun.read(write_run(tmp_path, seed=1))
    assert run.targets["optdigits"].score == 40
    assert (run.epoch, run.seconds) == (4, 60)


def test_a_study_is_read_with_its_runs_and_what_is_missing(results):
    (study,) = read(results)
    assert (study.name, study.title) == ("digits", "Five methods & more")
    assert study.command == "prorandconv study digits --data-root 'my data'"
    assert [run.config["method"] for run in study.runs] == ["erm"] * 2 + ["pro-randconv"] * 2
    assert study.tables[0].values("Pro-RandConv", "svhn") == (60.0, 62.0, 64.0)
    unfinished = study.runs[1].path.name
    assert study.problems == (
        "runs/x: failed: loss is not finite",
        f"../../runs/digits-mini/erm/mnist/{unfinished}: not done, epoch 3 of 4; "
        "its figures are those stored in study.json",
    )


def test_runs_of_no_study_are_read_beside_it(results, write_run):
    home = write_run(results / "runs", "randconv")
    study, others = read(results)
    assert len(study.runs) == 4
    assert [run.path for run in others.runs] == [home]


class TestRunsThatAreGone:
    """A study's figures are those stored in study.json, whatever has become of its runs."""

    def test_a_run_that_is_missing_is_listed_and_its_figures_stay(self, results):
        before = read(results)[0]
        gone = before.runs[2].path
        shutil.rmtree(gone)
        after = read(results)[0]
        name = os.path.relpath(gone, next(results.rglob("study.json")).parent)
        assert f"{name}: missing; its figures are those stored in study.json" in after.problems
        assert after.tables == before.tables

    def test_a_result_that_was_removed_is_listed_and_its_figures_stay(self, results):
        before = read(results)[0]
        (before.runs[2].path / "result.json").unlink()
        after = read(results)[0]
        (line,) = (line for line in after.problems if "pro-randconv" in line)
        assert line.endswith(": not done, epoch 4 of 4; its figures are those stored in study.json")
        assert after.tables == before.tables

    def test_a_study_without_any_run_is_complete_in_itself(self, results):
        shutil.rmtree(results / "runs")
        (study,) = read(results)
        assert study.problems == ("runs/x: failed: loss is not finite",)
        assert ("figures", "as stored in study.json; its runs are not here") in provenance(study)


def test_a_study_that_needs_no_runs_misses_none(results):
    path = next(results.rglob("study.json"))
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | {"runs": []}))
    assert ("figures", "as stored in study.json") in provenance(read(results)[0])


def test_a_study_of_runs_on_different_data_is_suspect(make_results, tmp_path):
    results = make_results(tmp_path)
    path = sorted(results.rglob("result.json"))[0]
    stored = json.loads(path.read_text())
    stored["data"]["fonts"] = "2e2e2e2e2e"
    path.write_text(json.dumps(stored))
    (study,) = read(results)
    different = "digits-mini fonts 2e2e2e2e or 1f1f1f1f"
    assert study.problems[-1] == f"its runs are not all on the same data: {different}"


def test_a_run_that_has_not_begun_is_at_epoch_0(write_run, tmp_path):
    home = write_run(tmp_path, done=1)
    (home / "metrics.jsonl").unlink()
    (study,) = read(tmp_path)
    assert study.problems[0].endswith("not done, epoch 0 of 4")


def test_a_run_whose_data_is_gone_is_reported_all_the_same(write_run, tmp_path):
    home = write_run(tmp_path / "runs")
    for name in ("config.json", "result.json"):
        stored = json.loads((home / name).read_text())
        config = stored.get("config", stored)
        config |= {"benchmark": "folder", "data_root": str(tmp_path / "gone")}
        (home / name).write_text(json.dumps(stored))
    (study,) = read(tmp_path)
    assert study.runs[0].targets["fonts"].score == 40


DAMAGED = (b'{"epo', b"[]", b"{}", b'{"metho": 1}', b"\xff\xfe\x00", b"null", b"[" * 100_000)


class TestDamage:
    """One bad file is a line among the problems; everything else is reported."""

    @pytest.mark.parametrize("content", DAMAGED)
    @pytest.mark.parametrize("name", ["metrics.jsonl", "timing.jsonl", "result.json"])
    def test_a_run_with_a_damaged_file_is_kept(self, results, name, content):
        path = sorted(results.rglob(name))[0]
        path.write_bytes(content)
        (study,) = read(results)
        assert len(study.runs) == 4
        home = os.path.relpath(path.parent, results / "studies" / "digits")
        assert any(line.startswith(f"{home}: {name}") for line in study.problems)

    @pytest.mark.parametrize("content", DAMAGED)
    def test_a_run_with_a_damaged_config_is_left_out(self, results, content):
        path = sorted(results.rglob("config.json"))[0]
        path.write_bytes(content)
        study = read(results)[0]
        assert len(study.runs) == 3
        assert any("left out: config.json" in line for line in study.problems)

    @pytest.mark.parametrize("content", DAMAGED)
    def test_runs_of_a_damaged_study_are_runs_of_no_study(self, results, content):
        path = next(results.rglob("study.json"))
        path.write_bytes(content)
        (found,) = read(results)
        assert (found.title, len(found.runs)) == ("Runs", 4)
        assert any(str(path) in line for line in found.problems)

    def test_lines_beside_a_torn_one_count(self, write_run, tmp_path):
        home = write_run(tmp_path)
        with open(home / "timing.jsonl", "a") as file:
            file.write('{"epoch": 2, "training_s": 7.0, "evalua')
        run = ReportedRun.read(home)
        assert run.seconds == 60
        assert run.problems == ("timing.jsonl: line 2 is damaged and left out",)

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("best_validation",), None),
            (("best_validation", "targets", "fonts", "confusion"), [["a"]]),
            (("best_validation", "targets", "fonts", "confusion"), [[1], [2]]),
            (("data",), [1]),
            (("config", "seed"), "0"),
            (("absent",), None),
        ],
    )
    def test_a_result_of_another_shape_is_damaged(self, write_run, tmp_path, where, value):
        home = write_run(tmp_path)
        stored = json.loads((home / "result.json").read_text())
        inner = stored
        for name in where[:-1]:
            inner = inner[name]
        inner[where[-1]] = value
        (home / "result.json").write_text(json.dumps(stored))
        run = ReportedRun.read(home)
        assert run.result is None
        assert run.problems[0].startswith("result.json")

    def test_a_config_of_something_else_is_listed(self, write_run, tmp_path):
        write_run(tmp_path)
        (tmp_path / "bert").mkdir()
        (tmp_path / "bert" / "config.json").write_text('{"architectures": ["BertModel"]}')
        (study,) = read(tmp_path)
        assert len(study.runs) == 1
        assert study.problems == (
            "bert: left out: config.json is not a run's config (benchmark: Field required)",
        )

    def test_a_table_with_words_for_figures_is_no_study(self, results):
        path = next(results.rglob("study.json"))
        stored = json.loads(path.read_text())
        stored["tables"][0]["cells"][0]["values"][0] = "62"
        path.write_text(json.dumps(stored))
        (found,) = read(results)
        assert found.title == "Runs"


def test_what_happened_to_a_run_is_listed(write_run, tmp_path):
    home = write_run(tmp_path)
    note(home, ["state.pt is damaged; set aside as state.damaged.pt"])
    (study,) = read(tmp_path)
    (line,) = study.problems
    assert line.startswith(f"digits-mini/erm/mnist/{home.name}: ")
    assert line.endswith(" state.pt is damaged; set aside as state.damaged.pt")


class TestWhatWasRun:
    """A report is made from what was run, not from files as they were edited since."""

    @pytest.fixture
    def edit(self, write_run, tmp_path):
        def edit(*names, **changes):
            home = write_run(tmp_path)
            for name in names:
                stored = json.loads((home / name).read_text())
                stored.get("config", stored).update(changes)
                (home / name).write_text(json.dumps(stored))
            return ReportedRun.read(home)

        return edit

    def test_an_edited_config_changes_no_figure_and_is_listed(self, edit):
        run = edit("config.json", method="pro-randconv", seed=77)
        assert (run.config["method"], run.config["seed"]) == ("erm", 0)
        assert run.problems == (
            "config.json was changed after the run (method, seed); result.json says what was run",
        )

    def test_another_place_of_the_data_is_no_change(self, edit):
        assert edit("config.json", data_root="/elsewhere").problems == ()

    def test_a_directory_that_says_otherwise_is_listed(self, edit):
        run = edit("config.json", "result.json", method="pro-randconv")
        assert run.problems == (
            "the directory says digits-mini erm mnist, the run digits-mini pro-randconv mnist",
        )

    def test_a_directory_of_another_hash_is_listed(self, write_run, tmp_path):
        home = write_run(tmp_path)
        other = home.rename(home.with_name("0123456789ab"))
        assert ReportedRun.read(other).problems == (
            f"the directory is not called by the run's hash, {home.name}",
        )

    def test_a_run_that_was_copied_elsewhere_is_not_suspect(self, write_run, tmp_path):
        home = write_run(tmp_path / "runs")
        copied = shutil.copytree(home, tmp_path / "sent" / home.name)
        assert ReportedRun.read(copied).problems == ()


def test_a_method_that_a_file_names_is_a_label_and_nothing_more(write_run, tmp_path, monkeypatch):
    home = write_run(tmp_path / "sec" / "got" / "run")
    (home / "evil.py").write_text("raise SystemExit('imported')")
    for name in ("config.json", "result.json"):
        stored = json.loads((home / name).read_text())
        stored.get("config", stored).update(method="evil:f", options={"x": 1}, network="evil:g")
        (home / name).write_text(json.dumps(stored))
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(str(home))
    (section,) = write_report(tmp_path, tmp_path / "out")
    table = section.tables[0].table
    assert table.rows == ("evil:f (x 1)",)
    assert table.values("evil:f (x 1)", "fonts") == (40.0,)
    assert "evil" not in sys.modules


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ProRandConvError, match=r"study.json or run directories"):
        read(tmp_path)
    with pytest.raises(ProRandConvError, match="a folder that exists"):
        read(tmp_path / "nowhere")
