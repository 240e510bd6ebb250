"""The command on studies: what it runs, skips, prints, writes and refuses."""

import json
import re

import pytest

from prorandconv.lab.run.directory import RESULT
from prorandconv.lab.study import efficiency
from prorandconv.lab.study.scenario import Scenario, Scenarios
from prorandconv.lab.study.settings import Settings
from prorandconv.lab.study.studies import STUDIES
from prorandconv.lab.study.table import AVERAGE, Table

SMALL = ["--benchmark", "digits-mini", "--networks", "own_lab:tiny", "--seeds", "2"]
SMALL += ["--epochs", "1", "--train-images", "128", "--test-images", "40", "--quiet"]
SCENES = ["--benchmark", "shapes-mini", "--networks", "own_lab:segmenting", "--image-size", "32"]
SCENES += ["--train-images", "8", "--test-images", "2"]


def stored(runs, name):
    (path,) = (runs / "studies" / name).glob("*/study.json")
    return path, json.loads(path.read_text())


@pytest.fixture(scope="module")
def shared_runs(tmp_path_factory):
    """One folder of runs for all studies, which share many of them."""
    return tmp_path_factory.mktemp("runs")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STUDIES if name != "efficiency"])
def test_every_study_runs_to_its_end_on_what_needs_no_download(run, mini, shared_runs, name):
    own = SCENES if name == "segmentation" else []
    code, out, _ = run("study", name, *SMALL, *own, "--runs", shared_runs)
    path, content = stored(shared_runs, name)
    assert code == 0
    assert str(path) in out.replace("\n", "")
    tables = [Table.from_mapping(table) for table in content["tables"]]
    failed = {(path.parent / entry["run"]).resolve() for entry in content["failed"]}
    assert all(table.complete for table in tables) or (name == "bounds" and failed)
    for folder in content["runs"]:
        assert (path.parent / folder / RESULT).is_file()
    for table in tables:
        assert all(row in out for row in table.rows)


@pytest.mark.slow
def test_efficiency_is_measured_once_and_then_read(run, mini, tmp_path, monkeypatch):
    monkeypatch.setattr(efficiency, "ROUNDS", 2)
    monkeypatch.setattr(efficiency, "STEPS", 1)
    own = Scenario.rows
    few = ("ERM", "RandConv w/ KLD (default)", "+ RC Block")  # a process for each takes time
    monkeypatch.setattr(
        Scenario, "rows", lambda self, table: [r for r in own(self, table) if r.name in few]
    )
    code, out, _ = run("study", "efficiency", "--runs", tmp_path)
    assert code == 0
    _, content = stored(tmp_path, "efficiency")
    absolute, ratios = (Table.from_mapping(table) for table in content["tables"])
    assert absolute.paper("Pro-RandConv", "training step, ms") == 12.0
    assert absolute.values("ERM", "MACs, M")[0] == pytest.approx(28.77, abs=0.005)
    assert absolute.values("ERM", "training memory, GB")[0] > 0.1
    assert ratios.paper("RandConv w/ KLD (default)", "training step") == pytest.approx(13 / 3.3)
    assert ratios.values("ERM", "training step") == (1.0, 1.0)
    assert ratios.values("RandConv w/ KLD (default)", "training step")[0] > 1.5

    monkeypatch.setattr(efficiency, "_measured", None)
    assert run("study", "efficiency", "--runs", tmp_path)[:2] == (0, out)


def test_what_is_done_is_not_run_again(run, mini, tmp_path, monkeypatch):
    words = ("study", "bounds", *SMALL, "--seeds", 1, "--runs", tmp_path, "--keep-checkpoint")
    assert run(*words)[0] == 0
    path, before = stored(tmp_path, "bounds")
    lost = (path.parent / before["runs"][0]).resolve()
    (lost / RESULT).unlink()
    listed = run(*words, "--dry-run")[1]
    assert "begun" in listed
    assert "1 of 6 runs to do" in listed.replace("\n", " ")

    from prorandconv.lab.run import training

    trained = []
    real = training.train
    monkeypatch.setattr(
        training, "train", lambda config, how: (trained.append(config), real(config, how))[1]
    )
    assert run(*words)[0] == 0
    assert [config.directory(tmp_path).resolve() for config in trained] == [lost]
    assert stored(tmp_path, "bounds")[1]["tables"] == before["tables"]


def test_a_diverged_run_is_shown_and_a_failed_one_changes_the_exit_code(
    run, mini, tmp_path, monkeypatch
):
    from prorandconv.lab.errors import DivergedError
    from prorandconv.lab.run import training

    real = training.train
    errors = [DivergedError("the loss is nan"), RuntimeError("a bad moment")]

    def train(config, execution):
        if config.options.bound is None and config.options.weights == "same":
            raise errors[0]
        return real(config, execution)

    monkeypatch.setattr(training, "train", train)
    words = ("study", "bounds", *SMALL, "--seeds", 1, "--runs", tmp_path)
    code, out, _ = run(*words)
    assert code == 0
    assert "the loss is nan" in out
    _, content = stored(tmp_path, "bounds")
    assert [entry["problem"] for entry in content["failed"]] == ["the loss is nan"]
    table = Table.from_mapping(content["tables"][0])
    assert table.values("Progressive (Same), no bound", AVERAGE) == (None,)
    assert table.values("Progressive (Same), clamp", AVERAGE)[0] is not None
    notes = [note for note in table.notes if note.startswith("failed: ")]
    assert notes == ["failed: Progressive (Same), no bound, seed 0: the loss is nan"]

    del errors[0]
    assert run(*words)[0] == 1


def test_a_dry_run_lists_the_runs_with_times_and_runs_nothing(run, mini, tmp_path):
    code, out, _ = run("study", "digits", *SMALL, "--runs", tmp_path, "--dry-run")
    assert code == 0
    assert out.count("to do") == 11
    assert "progressive weights=different own_lab:tiny mnist, seed 1" in out
    assert "10 of 10 runs to do" in out.replace("\n", " ")
    assert re.search(r"at a time; [\d.]+ [kM]B of disk", out.replace("\n", " "))
    assert not list(tmp_path.rglob(RESULT))


def test_studies_are_listed_with_their_number_of_runs(run):
    for words in (("study",), ("study", "--list")):
        code, out, _ = run(*words)
        assert code == 0
        lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
        assert set(STUDIES) <= set(lines)
    assert lines["components"].split()[-1] == "144"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["digts"], "did you mean 'digits'?"),
        (["digits", "--seeds", "0"], "--seeds: got 0"),
        (["digits", "--launcher", "slurm"], "--launcher: got 'slurm'"),
        (["digits", "--benchmark", "digits-mino"], "did you mean 'digits-mini'?"),
        (["digits", "--data-root", "nowhere"], "--benchmark digits-mini needs no data"),
        (["pacs-single", "--weights", "nowhere"], "--weights: got 'nowhere'"),
    ],
)
def test_wrong_words_are_refused(run, words, message):
    code, _, err = run("study", *words)
    assert code == 2
    assert message in err


def test_the_networks_of_usps_are_measured_on_every_drawing(run, mini, tmp_path):
    code, _, _ = run("study", "usps", *SMALL, "--runs", tmp_path)
    assert code == 0
    _, content = stored(tmp_path, "usps")
    whole, drawn = (Table.from_mapping(table) for table in content["tables"])
    assert drawn.columns[:2] == ("32", "30")
    for row in whole.rows:
        assert drawn.values(row, "32") == whole.values(row, whole.columns[0])
        assert all(value is not None for name in drawn.columns for value in drawn.values(row, name))


def test_accuracies_of_runs_that_are_done_stand_beside_their_costs(write_run, tmp_path):
    settings = Settings(benchmark="digits-mini", epochs=4, seeds=1)
    scenario = Scenarios.of(settings, "digits").usable[0]
    rows = scenario.rows("Table 5")
    assert efficiency._accuracies(scenario, rows, tmp_path) == ()
    path = write_run(tmp_path, "erm") / "result.json"
    result = json.loads(path.read_text())
    targets = result["best_validation"]["targets"]
    targets |= dict.fromkeys(("mnist_m_like", "numbers"), targets["fonts"])
    path.write_text(json.dumps(result))
    (table,) = efficiency._accuracies(scenario, rows, tmp_path)
    assert table.values("ERM", "accuracy") == ((30 + 3 * 40) / 4,)
    assert table.values("RandConv w/o KLD", "accuracy") == (None,)
