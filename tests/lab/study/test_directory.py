import json
from pathlib import Path

import pytest

from prorandconv import ProRandConvError
from prorandconv.lab.errors import RunError
from prorandconv.lab.launch import Outcome
from prorandconv.lab.study.directory import StudyDirectory
from prorandconv.lab.study.settings import Settings

SETTINGS = Settings(seeds=2, epochs=1, everything=True, data_root=Path("nowhere"))


def stored_result(config, data="1f"):
    names = ("svhn", "mnist_m", "usps", "syn", "mnist_m_b")
    target = {"accuracy": 40.0 + config.seed, "confusion": [[1]]}
    figures = {"epoch": 1, "val_accuracy": 90.0, "targets": dict.fromkeys(names, target)}
    return {
        "config": config.to_mapping(),
        "hash": config.hash,
        "data": {"train": data * 8, "val": data * 8, "svhn": data * 8},
        "classes": ["0"],
        "averaged": list(names[:4]),
        "absent": [],
        "best_validation": figures,
        "last": figures,
    }


@pytest.fixture
def study(tmp_path):
    """Writes the results of all runs, each changed as asked, and opens the study."""

    def make(change=lambda number, text: text):
        configs = StudyDirectory("digits", SETTINGS, tmp_path).configs.values()
        for number, config in enumerate(configs):
            home = config.directory(tmp_path)
            home.mkdir(parents=True, exist_ok=True)
            text = change(number, json.dumps(stored_result(config)))
            (home / "result.json").write_text(text)
        return StudyDirectory("digits", SETTINGS, tmp_path)

    return make


@pytest.mark.parametrize("content", ["{", "{}", "[]", '{"best_validation": {"targets": 3}}'])
def test_a_damaged_result_is_missing_and_named_and_the_others_count(study, content):
    found = study(lambda number, text: content if number == 0 else text)
    assert len(found.known.results) == 13
    (config,) = found.missing()
    assert (config.method, config.seed) == ("erm", 0)
    assert found.state(config.hash) == "failed"
    table = found.tables()[0]
    assert table.values("Baseline (ERM)", "svhn") == (None, 41.0)
    assert table.values("RandConv", "svhn") == (40.0, 41.0)
    (note,) = (note for note in table.notes if note.startswith("failed: Baseline (ERM), seed 0"))
    assert "result.json" in note


def test_a_result_on_other_data_is_not_averaged_with_the_others(study):
    found = study(lambda number, text: text.replace("1f" * 8, "2e" * 8) if number == 11 else text)
    (config,) = found.missing()
    assert (config.method, config.seed) == ("pro-randconv", 1)
    table = found.tables()[0]
    assert table.values("Pro-RandConv", "svhn") == (40.0, None)
    assert any("svhn 1f1f1f1f or 2e2e2e2e" in note for note in table.notes)


def test_a_run_that_is_repaired_is_no_failure_any_more(study):
    found = study(lambda number, text: "{" if number == 0 else text)
    (config,) = found.missing()
    found.record(Outcome(config, stored_result(config)))
    assert found.known.failures == {}
    assert found.tables()[0].values("Baseline (ERM)", "svhn") == (40.0, 41.0)


def test_what_happened_to_a_run_is_in_the_notes_of_the_table(study):
    found = study()
    config = next(iter(found.configs.values()))
    message = "state.pt is damaged; set aside as state.damaged.pt"
    found.record(Outcome(config, stored_result(config), messages=(message,)))
    (line,) = (line for line in found.tables()[0].notes if "damaged" in line)
    assert line.startswith("Baseline (ERM), seed 0: ")
    assert line.endswith("state.pt is damaged; set aside as state.damaged.pt")


class TestResultsThatWereKept:
    """Results by any names, without the runs that they are of."""

    @pytest.fixture
    def kept(self, tmp_path):
        folder = tmp_path / "kept"
        folder.mkdir()
        configs = list(StudyDirectory("digits", SETTINGS, tmp_path / "runs").configs.values())
        for number, config in enumerate(configs[:3]):
            (folder / f"{number}.json").write_text(json.dumps(stored_result(config)))
        (folder / "study.json").write_text(json.dumps({"study": "digits"}))
        (folder / "list.json").write_text("[]")
        return folder

    def test_they_count_as_done_and_are_found_again_without_the_folder(self, kept, tmp_path):
        found = StudyDirectory("digits", SETTINGS, tmp_path / "runs", kept)
        assert (found.imported, len(found.known.results), len(found.missing())) == (3, 3, 11)
        config = next(iter(found.configs.values()))
        home = config.directory(found.runs)
        assert json.loads((home / "config.json").read_text()) == config.to_mapping()
        assert len(StudyDirectory("digits", SETTINGS, tmp_path / "runs").known.results) == 3

    def test_metrics_that_were_kept_beside_a_result_are_imported_with_it(self, kept, tmp_path):
        (kept / "0-metrics.jsonl").write_text('{"epoch": 1}\n')
        found = StudyDirectory("digits", SETTINGS, tmp_path / "runs", kept)
        first, second = (one.directory(found.runs) for one in list(found.configs.values())[:2])
        assert (first / "metrics.jsonl").read_text() == '{"epoch": 1}\n'
        assert not (second / "metrics.jsonl").exists()

    def test_a_run_that_is_done_keeps_its_own_result(self, kept, tmp_path):
        StudyDirectory("digits", SETTINGS, tmp_path / "runs", kept)
        other = kept / "0.json"
        other.write_text(other.read_text().replace("40.0", "99.0"))
        found = StudyDirectory("digits", SETTINGS, tmp_path / "runs", kept)
        assert found.imported == 0
        assert found.tables()[0].values("Baseline (ERM)", "svhn") == (40.0, None)

    def test_a_result_of_another_run_is_not_taken_for_that_of_its_name(self, kept, tmp_path):
        wrong = kept / "0.json"
        wrong.write_text(wrong.read_text().replace('"epochs": 1,', '"epochs": 2,'))
        found = StudyDirectory("digits", SETTINGS, tmp_path / "runs", kept)
        assert len(found.known.results) == 2
        assert "epochs" in next(iter(found.known.failures.values()))

    def test_what_cannot_be_read_is_named(self, kept, tmp_path):
        (kept / "1.json").write_text("{")
        with pytest.raises(RunError, match=r"1\.json.*damaged.*restore it, or move it away"):
            StudyDirectory("digits", SETTINGS, tmp_path / "runs", kept)
        with pytest.raises(ProRandConvError, match=r"^--results: got .*nowhere.*a folder with"):
            StudyDirectory("digits", SETTINGS, tmp_path / "runs", tmp_path / "nowhere")
