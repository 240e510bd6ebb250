"""What every launcher does: all runs, each once; failures are reported, and stop nothing."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from prorandconv import ProRandConvError
from prorandconv.lab.launch import LaunchOptions, get_launcher
from prorandconv.lab.launch.pool import Pool, visible_gpus
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.directory import ENVIRONMENT, METRICS, RESULT, STATE


def launched(configs, runs, **options):
    outcomes = []
    launcher = get_launcher(LaunchOptions(**options))
    launcher(configs, Execution(runs=runs, accelerator="cpu", quiet=True), outcomes.append)
    return {outcome.config.hash: outcome for outcome in outcomes}, len(outcomes)


@pytest.mark.parametrize("options", [{}, {"launcher": "pool", "workers": 2}])
def test_a_failed_run_is_tried_once_more_and_then_reported(small_run, tmp_path, options):
    folders = [tmp_path / name for name in ("once", "always", "killed")]
    for folder in folders:
        folder.mkdir()
    once, always, killed = map(str, folders)
    good = [small_run("erm", epochs=1, seed=seed) for seed in range(2)]
    mended = small_run("own_lab:troubled", options={"folder": once, "times": 1}, epochs=1)
    hopeless = small_run("own_lab:troubled", options={"folder": always, "times": 9}, epochs=1)
    configs = [hopeless, mended, *good]
    if options:  # alone in its process, a run would take this one with it
        configs.append(small_run("own_lab:killed", options={"folder": killed}, epochs=1))
    outcomes, count = launched(configs, tmp_path / "runs", **options)
    assert count == len(configs) == len(outcomes)
    assert len(list(folders[1].iterdir())) == 2
    assert outcomes[hopeless.hash].result is None
    assert "raises RuntimeError: a bad moment" in outcomes[hopeless.hash].problem
    for config in configs[1:]:
        stored = json.loads((config.directory(tmp_path / "runs") / RESULT).read_text())
        assert outcomes[config.hash].result == stored


@pytest.mark.parametrize("options", [{}, {"launcher": "pool", "workers": 1}])
def test_a_damaged_checkpoint_is_in_the_outcome_of_the_run(small_run, tmp_path, options):
    config = small_run("erm", epochs=1)
    assert next(iter(launched([config], tmp_path)[0].values())).messages == ()
    folder = config.directory(tmp_path)
    (folder / RESULT).unlink()
    (folder / STATE).write_bytes(b"nonsense")
    (outcome,) = launched([config], tmp_path, **options)[0].values()
    assert outcome.result is not None
    assert "state.pt is damaged" in outcome.messages[0]


def test_a_run_that_diverges_is_not_tried_again(small_run, tmp_path):
    config = small_run("erm", learning_rate=1e30, epochs=2)
    (outcome,) = launched([config], tmp_path)[0].values()
    assert outcome.diverged
    assert outcome.problem == "the loss is nan in epoch 1, step 2"


def test_processes_of_a_pool_share_the_threads(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 6)
    config = small_run("erm", epochs=1)
    launched([config], tmp_path, launcher="pool", workers=2)
    environment = json.loads((config.directory(tmp_path) / ENVIRONMENT).read_text())
    assert environment["threads"] == 3


@pytest.mark.parametrize(
    ("gpus", "workers", "assigned"),
    [
        ("0,1,2,3", 2, ["0,2", "1,3"]),
        ("4,7", 4, ["4", "7", "4", "7"]),
        ("", 2, [None, None]),
    ],
)
def test_gpus_are_assigned_round_robin(monkeypatch, gpus, workers, assigned):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    pool = Pool(LaunchOptions(launcher="pool", workers=workers))
    assert [pool._gpus_of(slot) for slot in range(workers)] == assigned
    assert len(visible_gpus()) == len([gpu for gpu in gpus.split(",") if gpu])


def test_a_pool_without_a_number_has_a_process_for_each_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    assert Pool(LaunchOptions(launcher="pool")).width == 3


@pytest.mark.slow
def test_a_pool_that_is_stopped_saves_and_the_same_command_goes_on(mini, tmp_path):
    command = [sys.executable, "-m", "prorandconv.lab.cli.main", "study", "digits", "--seeds", "1"]
    command += ["--benchmark", "digits-mini", "--networks", "own_lab:tiny", "--epochs", "12"]
    command += ["--launcher", "pool", "--workers", "2", "--runs", str(tmp_path)]
    command += ["--test-images", "64", "--train-images", "1000"]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    study = subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.rglob("state.pt")):
        assert study.poll() is None, study.stderr.read()
        time.sleep(0.05)
    study.send_signal(signal.SIGTERM)
    study.communicate(timeout=120)
    assert study.returncode == 130
    begun = len(list(tmp_path.rglob("state.pt")))
    assert 1 <= begun <= 3
    assert len(list(tmp_path.rglob(RESULT))) < 5
    before = {path: path.read_text() for path in tmp_path.rglob(METRICS)}
    subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True)
    assert len(list(tmp_path.rglob(RESULT))) == 5
    for metrics, lines in before.items():
        assert metrics.read_text().startswith(lines)


@pytest.mark.parametrize(
    "wrong",
    [{"launcher": "slurm"}, {"workers": 0}, {"cpus": 0}, {"gpus": -1}],
)
def test_wrong_options_raise_errors(wrong):
    with pytest.raises(ProRandConvError, match=f"--{next(iter(wrong))}"):
        LaunchOptions(**wrong)


def test_ray_that_is_not_installed_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ProRandConvError, match=r"pip install 'prorandconv\[ray\]'"):
        get_launcher(LaunchOptions(launcher="ray"))
