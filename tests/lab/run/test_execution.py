import os
from pathlib import Path

import pytest
import torch

from prorandconv import ProRandConvError
from prorandconv.lab.errors import RunError
from prorandconv.lab.launch import LaunchOptions, get_launcher
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.training import train


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"accelerator": "cudda"}, "accelerator: got 'cudda', .*did you mean 'cuda'"),
        ({"checkpoint_minutes": -1.0}, "checkpoint_minutes: got -1.0"),
    ],
)
def test_a_wrong_option_raises_an_error_when_it_is_handed_in(wrong, message):
    with pytest.raises(ProRandConvError, match=message):
        Execution(**wrong)


@pytest.mark.parametrize("accelerator", ["cuda", "mps"])
def test_an_accelerator_that_is_not_there_is_named_before_anything_is_written(
    small_run, tmp_path, monkeypatch, accelerator
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ProRandConvError, match=f"accelerator: got '{accelerator}', .* cpu"):
        train(small_run("erm"), Execution(runs=tmp_path / "runs", accelerator=accelerator))
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("launcher", ["serial", "pool"])
def test_a_launcher_raises_it_once_instead_of_failing_with_each_run(
    small_run, tmp_path, monkeypatch, launcher
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    launch = get_launcher(LaunchOptions(launcher=launcher))
    with pytest.raises(ProRandConvError, match="accelerator: got 'cuda'"):
        launch([small_run("erm")], Execution(tmp_path, "cuda"), lambda outcome: None)


def test_a_folder_of_runs_that_is_a_file_is_named(small_run, tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(RunError, match=r"runs/.*cannot be written .*another folder of runs"):
        train(small_run("erm"), Execution(runs=tmp_path / "runs", quiet=True))


def test_a_folder_of_runs_that_cannot_be_written_is_named(small_run, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise PermissionError(13, os.strerror(13))

    config = small_run("erm")
    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(RunError, match=r"cannot be written \(Permission denied\); .*--runs"):
        train(config, Execution(runs=tmp_path / "runs", quiet=True))
