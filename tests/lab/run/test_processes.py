"""Several processes that train together: here two on the CPU, by gloo."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
import safetensors.torch
import torch

from prorandconv.lab.errors import RunError
from prorandconv.lab.run import distributed as processes
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.directory import BEST, METRICS, RESULT, STATE
from prorandconv.lab.run.training import train

START = "from prorandconv.lab.cli.main import main; main()"


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


def test_two_processes_segment_and_go_on_bit_for_bit(small_segmentation, tmp_path):
    config = small_segmentation("ours-move", epochs=2, devices=2)
    execution = Execution(runs=tmp_path, accelerator="cpu", quiet=True)
    train(config, execution)
    folder = config.directory(tmp_path)
    expected = [(folder / name).read_bytes() for name in (RESULT, METRICS, BEST)]
    assert {line["images"] for line in lines(folder / METRICS)} == {56}  # whole batches
    (folder / RESULT).unlink()
    (folder / STATE).unlink()
    train(config, execution)
    assert [(folder / name).read_bytes() for name in (RESULT, METRICS, BEST)] == expected


def test_torchrun_starts_the_processes_as_well(small_run, tmp_path, mini):
    config = small_run("erm", network="own_lab:plain", epochs=1, devices=2)
    (tmp_path / "config.json").write_text(json.dumps(config.to_mapping()))
    own = os.path.dirname(sys.modules["own_lab"].__file__)
    path = os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python"]
    command += [
        "--nproc-per-node",
        "2",
        sys.executable,
        "-c",
        START,
        "train",
        "--accelerator",
        "cpu",
    ]
    command += ["--config", str(tmp_path / "config.json"), "--runs", str(tmp_path / "runs")]
    command += ["--trust-code"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert lines(config.directory(tmp_path / "runs") / METRICS)[0]["images"] == 320


def test_a_process_of_torchrun_leaves_the_others_when_its_work_is_done(
    small_run, tmp_path, monkeypatch
):
    done = []
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(processes, "_joined", lambda *_: "fabric")
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: done.append("left"))
    config, execution = small_run("erm", devices=2), Execution(runs=tmp_path, accelerator="cpu")
    assert processes.in_processes(lambda *given: done.append(given[0]), config, execution) is None
    assert done == ["fabric", "left"]


def test_a_wrong_number_of_processes_is_named(small_run, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(ValueError, match="the 4 processes that torchrun has started"):
        train(small_run("erm", devices=2), Execution(runs=tmp_path))


def children(process):
    """Processes that were started by one, and are not helpers of Python's."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = [Path(f"/proc/{number}/cmdline").read_bytes() for number in listed]
    return sum(b"spawn_main" in command for command in commands)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see processes")
def test_a_signal_while_two_processes_start_saves_and_stops(mini, tmp_path):
    command = [sys.executable, "-c", START, "train", "--benchmark", "digits-mini", "--source"]
    command += ["mnist", "--method", "erm", "--devices", "2", "--accelerator", "cpu"]
    command += ["--runs", str(tmp_path)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as one:
        while children(one) < 2:
            assert one.poll() is None
            time.sleep(0.01)
        one.send_signal(signal.SIGTERM)
        printed, errors = one.communicate(timeout=120)
    assert one.returncode == 130, errors
    assert "stopped and saved in epoch 1" in printed
    assert "Traceback" not in errors
    assert len(list(tmp_path.rglob(STATE))) == 1


def test_machines_that_cannot_find_each_other_are_refused(small_run, tmp_path, monkeypatch):
    for name in processes.MEETING_POINTS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RunError, match="nodes: got 2, expected 1, or a start by torchrun or SLURM"):
        train(small_run("erm", nodes=2), Execution(runs=tmp_path, accelerator="cpu"))


def test_processes_wait_for_each_other_only_so_long(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "JOINING", timedelta(seconds=1))
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(processes.free_port())}
    for name, value in (variables | {"NODE_RANK": "0", "LOCAL_RANK": "0"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RunError, match=r"2 with 1 process.* expected all of them to join within"):
        train(small_run("erm", nodes=2), Execution(runs=tmp_path, accelerator="cpu"))


@pytest.mark.slow
def test_a_process_that_is_killed_is_named(small_run, tmp_path):
    config = small_run("own_lab:killed", options={"folder": str(tmp_path)}, devices=2)
    with pytest.raises(RunError, match=r"process \d of the run has ended \(SIGKILL\)"):
        train(config, Execution(runs=tmp_path / "runs", accelerator="cpu", quiet=True))
