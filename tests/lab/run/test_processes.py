"""Several processes that train together: here two on the CPU, by gloo."""

import json
import os
import subprocess
import sys

import pytest
import safetensors.torch
import torch

from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.directory import BEST, METRICS, RESULT, STATE
from prorandconv.lab.run.training import train


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_two_processes_average_their_gradients(small_run, tmp_path):
    weights = []
    for devices in (1, 2):
        config = small_run("erm", network="own_lab:plain", epochs=2, devices=devices)
        train(config, Execution(runs=tmp_path, accelerator="cpu", quiet=True))
        folder = config.directory(tmp_path)
        assert [line["images"] for line in lines(folder / METRICS)] == [320, 320]
        weights.append(safetensors.torch.load_file(folder / BEST))
    for name, value in weights[0].items():
        assert torch.allclose(value, weights[1][name], atol=1e-5)


def test_each_process_has_its_own_share_and_draws_and_the_first_one_writes(small_run, tmp_path):
    seen = tmp_path / "seen"
    seen.mkdir()
    config = small_run(
        "own_lab:recorded",
        options={"folder": str(seen)},
        network="own_lab:plain",
        epochs=1,
        devices=2,
    )
    result = train(config, Execution(runs=tmp_path / "runs", accelerator="cpu", quiet=True))
    first, second = (lines(seen / f"rank{rank}.jsonl")[1:] for rank in (0, 1))  # after a trial
    assert [line["images"] for line in first] == [16] * 10
    assert [line["images"] for line in second] == [16] * 10
    assert not {line["drawn"] for line in first} & {line["drawn"] for line in second}
    assert json.loads((config.directory(tmp_path / "runs") / "result.json").read_text()) == result
    assert len(list((tmp_path / "runs").rglob("state.pt"))) == 1


def test_two_processes_go_on_with_their_own_generators(small_run, tmp_path):
    config = small_run("pro-randconv", epochs=2, devices=2)
    execution = Execution(runs=tmp_path, accelerator="cpu", quiet=True)
    train(config, execution)
    folder = config.directory(tmp_path)
    expected = [(folder / name).read_bytes() for name in (RESULT, METRICS, BEST)]
    (folder / RESULT).unlink()
    (folder / STATE).unlink()
    train(config, execution)
    assert [(folder / name).read_bytes() for name in (RESULT, METRICS, BEST)] == expected


def test_torchrun_starts_the_processes_as_well(small_run, tmp_path, mini):
    config = small_run("erm", network="own_lab:plain", epochs=1, devices=2)
    (tmp_path / "config.json").write_text(json.dumps(config.to_mapping()))
    own = os.path.dirname(sys.modules["own_lab"].__file__)
    path = os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])
    start = "from prorandconv.lab.cli.main import main; main()"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python"]
    command += [
        "--nproc-per-node",
        "2",
        sys.executable,
        "-c",
        start,
        "train",
        "--accelerator",
        "cpu",
    ]
    command += ["--config", str(tmp_path / "config.json"), "--runs", str(tmp_path / "runs")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert lines(config.directory(tmp_path / "runs") / METRICS)[0]["images"] == 320


def test_a_wrong_number_of_processes_is_named(small_run, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(ValueError, match="the 4 processes that torchrun has started"):
        train(small_run("erm", devices=2), Execution(runs=tmp_path))
