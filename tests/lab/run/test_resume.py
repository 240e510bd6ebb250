"""Runs that are killed, and go on as if they had not been."""

import multiprocessing
import os
import random
import signal
import threading
import time

import pytest

from prorandconv.lab.errors import StoppedError
from prorandconv.lab.run.checkpoint import checksum, network_weights, read_state
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.directory import BEST, METRICS, RESULT, RunDirectory
from prorandconv.lab.run.training import train

KILLS = {"small_run": 20, "small_segmentation": 3}
MINUTES = 0.0005


def outcome(folder):
    state, _ = read_state(RunDirectory(folder))
    files = {name: (folder / name).read_bytes() for name in (RESULT, METRICS, BEST)}
    return files | {"last weights": checksum(network_weights(state))}


@pytest.fixture
def start(own_modules, monkeypatch):
    """Starts a child that trains; the server it is forked from has imported everything."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["prorandconv.lab.run.training"])
    import own_lab

    children = []

    def make(config, runs):
        arguments = (config, str(runs), MINUTES)
        child = server.Process(target=own_lab.child, args=arguments)
        child.start()
        children.append(child)
        return child

    yield make
    for child in children:
        if child.is_alive():
            child.kill()
            child.join()


@pytest.mark.parametrize("kind", ["small_run", "small_segmentation"])
def test_kills_at_random_moments_change_no_bit(kind, request, start, tmp_path):
    make, planned = request.getfixturevalue(kind), KILLS[kind]
    chance = random.Random(0)
    kills = within_epochs = rounds = 0
    while kills < planned:
        config = make(seed=rounds, epochs=4, target_every=2)
        undisturbed = tmp_path / f"undisturbed{rounds}"
        train(config, Execution(runs=undisturbed, quiet=True))
        began = time.monotonic()
        timed = start(config, tmp_path / f"timed{rounds}")
        timed.join()
        usual = time.monotonic() - began
        disturbed = tmp_path / f"disturbed{rounds}"
        folder = config.directory(disturbed)
        while True:
            child = start(config, disturbed)
            child.join(timeout=chance.uniform(0.2, 0.8) * usual)
            child.kill()
            child.join()
            if child.exitcode == 0:
                break
            assert child.exitcode == -signal.SIGKILL
            kills += 1
            state, messages = read_state(RunDirectory(folder))
            assert messages == []
            within_epochs += state is not None and state["run"]["step"] > 0
        assert outcome(folder) == outcome(config.directory(undisturbed))
        rounds += 1
    assert within_epochs > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_the_run_goes_on(small_run, start, tmp_path, number):
    config = small_run("erm", epochs=40, target_every=0)
    folder = config.directory(tmp_path / "stopped")
    child = start(config, tmp_path / "stopped")
    while not (folder / "state.pt").exists():
        assert child.is_alive()
        time.sleep(0.02)
    os.kill(child.pid, number)
    child.join(timeout=60)
    assert child.exitcode == 130
    state, messages = read_state(RunDirectory(folder))
    assert messages == []
    assert not (folder / RESULT).exists()
    assert 0 < state["run"]["epoch"] * 10 + state["run"]["step"] < 400
    train(config, Execution(runs=tmp_path / "stopped", quiet=True))
    train(config, Execution(runs=tmp_path / "through", quiet=True))
    assert outcome(folder) == outcome(config.directory(tmp_path / "through"))


def test_a_run_that_waits_for_another_process_can_be_stopped(small_run, tmp_path):
    config, locked, ended = small_run("erm"), threading.Event(), threading.Event()

    def hold_and_stop():
        with RunDirectory(config.directory(tmp_path)).locked():
            locked.set()
            while not ended.wait(0.1):
                os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    other = threading.Thread(target=hold_and_stop)
    try:
        other.start()
        locked.wait()
        with pytest.raises(StoppedError, match="stopped before it began"):
            train(config, Execution(runs=tmp_path, quiet=True, wait=True))
    finally:
        ended.set()
        other.join()
        signal.signal(signal.SIGTERM, before)
