import pytest

from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.study import estimate
from prorandconv.lab.study.estimate import Estimator, long_run_warning


@pytest.fixture
def five_hours(monkeypatch):
    monkeypatch.setattr(Estimator, "seconds", lambda self, configs: [5 * 3600.0])


def test_the_epochs_of_the_recipe_on_a_cpu_are_announced(mini, tmp_path, five_hours):
    config = RunConfig.paper("digits-mini", "mnist", "erm")
    warning = long_run_warning(config, Execution(runs=tmp_path, accelerator="cpu"))
    assert "500 epochs, the benchmark's number, will take about 5 h 00 min on this CPU" in warning
    assert "--epochs" in warning


def test_more_epochs_are_not_called_the_benchmarks(mini, tmp_path, five_hours):
    config = RunConfig.paper("digits-mini", "mnist", "erm", epochs=501)
    warning = long_run_warning(config, Execution(runs=tmp_path, accelerator="cpu"))
    assert warning.startswith("501 epochs will take about 5 h 00 min on this CPU; ")


def test_nothing_is_announced_of_fewer_epochs_or_if_quiet(mini, tmp_path, five_hours):
    here = {"runs": tmp_path, "accelerator": "cpu"}
    config = RunConfig.paper("digits-mini", "mnist", "erm")
    assert long_run_warning(config, Execution(**here, quiet=True)) is None
    fewer = RunConfig.paper("digits-mini", "mnist", "erm", epochs=499)
    assert long_run_warning(fewer, Execution(**here)) is None


def test_a_short_run_is_not_announced(mini, tmp_path, monkeypatch):
    monkeypatch.setattr(Estimator, "seconds", lambda self, configs: [estimate.LONG - 1])
    config = RunConfig.paper("digits-mini", "mnist", "erm")
    assert long_run_warning(config, Execution(runs=tmp_path, accelerator="cpu")) is None


def test_a_run_that_is_done_needs_no_estimate_and_no_data(mini, tmp_path, monkeypatch):
    config = RunConfig.paper("digits-mini", "mnist", "erm")
    monkeypatch.setattr(Estimator, "seconds", None)
    folder = config.directory(tmp_path)
    folder.mkdir(parents=True)
    (folder / "result.json").touch()
    assert long_run_warning(config, Execution(runs=tmp_path, accelerator="cpu")) is None
