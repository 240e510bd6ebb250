import json

import pytest

from prorandconv import ProRandConvError
from prorandconv.lab.report.read import ReportedRun, read


def test_a_run_tells_its_targets_time_and_last_epoch(write_run, tmp_path):
    run = ReportedRun.read(write_run(tmp_path, seed=1))
    assert run.targets["optdigits"].accuracy == 40
    assert (run.epoch, run.seconds) == (4, 60)


def test_a_study_is_read_with_its_runs_and_what_is_missing(results):
    (study,) = read(results)
    assert (study.name, study.title) == ("digits", "Five methods & more")
    assert study.command == "prorandconv study digits --data-root 'my data'"
    assert [run.config.method for run in study.runs] == ["erm"] * 2 + ["pro-randconv"] * 2
    assert study.tables[0].values("Pro-RandConv", "svhn") == (60.0, 62.0, 64.0)
    unfinished = study.runs[1].path.name
    assert study.problems == (
        "runs/x: failed: loss is not finite",
        f"../../runs/digits-mini/erm/mnist/{unfinished}: not done, epoch 3 of 4",
    )


def test_runs_of_no_study_are_read_beside_it(results, write_run):
    home = write_run(results / "runs", "randconv")
    study, others = read(results)
    assert len(study.runs) == 4
    assert [run.path for run in others.runs] == [home]


def test_a_run_that_is_not_there_is_told(results):
    path = next(results.rglob("study.json"))
    stored = json.loads(path.read_text())
    stored["runs"].append("../gone")
    path.write_text(json.dumps(stored))
    assert "../gone: not there" in read(results)[0].problems


def test_a_run_that_has_not_begun_is_at_epoch_0(write_run, tmp_path):
    home = write_run(tmp_path, done=1)
    (home / "metrics.jsonl").unlink()
    (study,) = read(tmp_path)
    assert study.problems[0].endswith("not done, epoch 0 of 4")


def test_a_run_whose_data_is_gone_is_left_out_and_told(write_run, tmp_path):
    home = write_run(tmp_path / "runs")
    config = json.loads((home / "config.json").read_text())
    config |= {"benchmark": "folder", "data_root": str(tmp_path / "gone"), "source": ["a"]}
    (home / "config.json").write_text(json.dumps(config))
    (study,) = read(tmp_path)
    assert study.runs == ()
    assert "left out, because its data is gone" in study.problems[0]


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "result.json", "study.json"])
@pytest.mark.parametrize("content", ['{"epo', "[]", '{"metho": 1}'])
def test_a_damaged_file_is_named(results, name, content):
    path = sorted(results.rglob(name))[0]
    path.write_text(content)
    with pytest.raises(ProRandConvError, match=name) as raised:
        read(results)
    assert str(path) in str(raised.value)


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ProRandConvError, match=r"study.json or run directories"):
        read(tmp_path)
    with pytest.raises(ProRandConvError, match="a folder that exists"):
        read(tmp_path / "nowhere")
