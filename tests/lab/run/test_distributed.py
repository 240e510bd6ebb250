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
from prorandconv.lab.run import distributed
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.directory import BEST, METRICS, STATE
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
    assert len(list((tmp_path / "runs").rglob(BEST))) == 1


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


TORCHRUN = {"TORCHELASTIC_RUN_ID": "1", "RANK": "2", "LOCAL_RANK": "0", "WORLD_SIZE": "4"}
SRUN = {
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "gpu[007-008,011]",
    "SLURM_JOB_ID": "4012345",
}


@pytest.fixture
def variables(monkeypatch):
    """Sets the variables of a process that another program has started."""
    for name in (*TORCHRUN, *SRUN, "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)

    def set_them(given):
        for name, value in given.items():
            monkeypatch.setenv(name, value)

    return set_them


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        (TORCHRUN, ("torchrun", 2, 0, 4)),
        (SRUN, ("srun", 3, 1, 4)),
        (SRUN | {"SLURM_STEP_NUM_TASKS": "1"}, None),  # srun with one process
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),  # a batch script, not within srun
    ],
)
def test_a_process_knows_which_of_those_it_is_that_a_program_has_started(
    variables, given, expected
):
    variables(given)
    assert distributed.started() == expected
    assert distributed.is_first() == (expected is None)


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("gpu[007-008,011]", "gpu007"), ("gpu3", "gpu3"), ("one,two", "one"), ("a-b[1,5],c", "a-b1")],
)
def test_processes_of_srun_meet_on_the_first_node(variables, nodes, first):
    variables(SRUN | {"SLURM_STEP_NODELIST": nodes})
    assert distributed._meeting_point("srun") == f"tcp://{first}:17345"
    variables({"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "5"})
    assert distributed._meeting_point("srun") == "tcp://10.0.0.1:5"


@pytest.mark.slow
def test_srun_starts_the_processes_and_only_the_first_one_speaks(small_run, tmp_path, mini):
    config = small_run("erm", network="lenet", epochs=1, devices=2)
    (tmp_path / "config.json").write_text(json.dumps(config.to_mapping()))
    port = distributed.free_port()
    command = [sys.executable, "-c", START, "train", "--accelerator", "cpu"]
    command += ["--config", str(tmp_path / "config.json"), "--runs", str(tmp_path / "runs")]
    place = {"SLURM_STEP_NODELIST": "localhost", "MASTER_PORT": str(port)}
    both = [
        subprocess.Popen(
            command,
            env={
                **os.environ,
                **SRUN,
                **place,
                "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_PROCID": str(rank),
                "SLURM_LOCALID": str(rank),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    printed = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], printed
    assert config.hash in printed[0][0]
    assert printed[1] == ("", "")


@pytest.mark.parametrize(
    ("given", "program"), [(TORCHRUN, "torchrun"), (SRUN, "srun")], ids=["torchrun", "srun"]
)
def test_a_wrong_number_of_processes_is_named(small_run, tmp_path, variables, given, program):
    variables(given)
    with pytest.raises(ValueError, match=f"the 4 processes that {program} has started"):
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


def test_machines_that_cannot_find_each_other_raise_an_error(small_run, tmp_path, monkeypatch):
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(RunError, match="nodes: got 2, expected 1, or a start by torchrun or srun"):
        train(small_run("erm", nodes=2), Execution(runs=tmp_path, accelerator="cpu"))


def test_processes_wait_for_each_other_only_so_long(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(distributed, "JOINING", timedelta(seconds=1))
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(distributed.free_port())}
    for name, value in (variables | {"NODE_RANK": "0", "LOCAL_RANK": "0"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RunError, match=r"2 with 1 process.* expected all of them to join within"):
        train(small_run("erm", nodes=2), Execution(runs=tmp_path, accelerator="cpu"))


@pytest.mark.slow
def test_a_process_that_is_killed_is_named(small_run, tmp_path):
    config = small_run("own_lab:killed", options={"folder": str(tmp_path)}, devices=2)
    with pytest.raises(RunError, match=r"process \d of the run has ended \(SIGKILL\)"):
        train(config, Execution(runs=tmp_path / "runs", accelerator="cpu", quiet=True))


@pytest.mark.slow
def test_processes_agree_on_values_and_errors_of_the_first_one(small_run, tmp_path):
    from own_learners import disagree

    execution = Execution(runs=tmp_path, accelerator="cpu", quiet=True)
    found = distributed.run_on_ranks(disagree, small_run("erm", devices=2), execution)
    assert found == (["no room", "no room"], 0)
