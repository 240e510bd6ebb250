"""Runs that are stopped or killed, and go on as if they had not been."""

import json
import multiprocessing
import os
import random
import signal
import threading
import time

import pytest
import torch

from prorandconv.lab.errors import DivergedError, RunError, StoppedError
from prorandconv.lab.run import training
from prorandconv.lab.run.checkpoint import checksum, network_weights, read_state, write_state
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.directory import (
    BEST,
    METRICS,
    PREVIOUS,
    RESULT,
    STATE,
    RunDirectory,
    notes,
)
from prorandconv.lab.run.trained import replay
from prorandconv.lab.run.training import train

KILLS = {"small_run": 20, "small_segmentation": 3}
MINUTES = 0.0005


def execution(runs, **options):
    return Execution(runs, "cpu", **({"quiet": True, "keep_checkpoint": True} | options))


def outcome(folder):
    """What must be equal bit for bit; wall-clock times are in timing.jsonl, which is not here."""
    return {name: (folder / name).read_bytes() for name in (RESULT, METRICS, BEST)}


def state_of(folder):
    state, messages = read_state(RunDirectory(folder))
    assert messages == []
    return state


@pytest.fixture
def three_sources(mini, write, tmp_path):
    """Makes the config of a run on three folders of images, each of one brightness."""
    import numpy as np
    from PIL import Image

    for number, domain in enumerate(("a", "b", "c", "d")):
        write.tree(tmp_path / "own", (domain,), ("cat", "dog"), count=9, size=8, suffix=".png")
        for path in (tmp_path / "own" / domain).rglob("*.png"):
            Image.fromarray(np.full((8, 8, 3), 60 * number, np.uint8)).save(path)

    def make(**changes):
        small = {"network": "own_lab:plain", "epochs": 2, "batch_size": 6, "image_size": 8}
        method, root = "own_learners:Notes", tmp_path / "own"
        return RunConfig.paper("folder", tuple("abc"), method, data_root=root, **(small | changes))

    return make


@pytest.fixture
def growing(small_run, tmp_path):
    """Makes the config of a run whose training images grow in each epoch but the first."""
    notes = tmp_path / "ascents"
    notes.mkdir()

    def make(**options):
        options = {"folder": str(notes)} | options
        return small_run(
            "own_learners:Ascent", options=options, network="own_lab:plain", train_images=96
        )

    return make


CASES = {
    "one step before the end": lambda make, cut: make(epochs=2),
    "jitter": lambda make, cut: make("erm", jitter=0.5),
    "selection": lambda make, cut: make("erm", select="val-shifted", learning_rate=0.3, epochs=4),
    "ema": lambda make, cut: make(network="own_lab:normalised", average="ema", epochs=4),
    "swad": lambda make, cut: make(network="own_lab:normalised", average="swad", epochs=4),
    "segmentation": lambda make, cut: cut("ours-move", epochs=2),
    "two processes": lambda make, cut: make(epochs=2, devices=2),
    "two that segment": lambda make, cut: cut("ours-move", epochs=2, devices=2),
    "two that average": lambda make, cut: make(
        network="own_lab:normalised", average="ema", epochs=2, devices=2
    ),
}
SLOW = [pytest.param(n, marks=pytest.mark.slow) if n.startswith("two") else n for n in CASES]


@pytest.mark.parametrize("case", SLOW)
def test_from_an_earlier_checkpoint_a_run_ends_with_the_same_bits(
    case, small_run, small_segmentation, tmp_path
):
    config = CASES[case](small_run, small_segmentation)
    train(config, execution(tmp_path, checkpoint_minutes=0.0))
    folder = config.directory(tmp_path)
    expected = outcome(folder)
    (folder / RESULT).unlink()
    (folder / STATE).unlink()  # the one before it is from within the last epoch
    state = state_of(folder)
    assert state["run"]["step"] > 0
    assert len(state["generators"]) == config.devices
    train(config, execution(tmp_path))
    assert outcome(folder) == expected


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
        train(config, execution(undisturbed))
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
            state = state_of(folder)
            within_epochs += state is not None and state["run"]["step"] > 0
        last = [
            checksum(network_weights(state_of(config.directory(runs))))
            for runs in (disturbed, undisturbed)
        ]
        assert last[0] == last[1]
        assert outcome(folder) == outcome(config.directory(undisturbed))
        rounds += 1
    assert within_epochs > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_the_run_goes_on(small_run, start, trained, tmp_path, number):
    config = small_run("erm", epochs=40, target_every=0)
    folder = config.directory(tmp_path)
    child = start(config, tmp_path)
    while not (folder / STATE).exists():
        assert child.is_alive()
        time.sleep(0.02)
    os.kill(child.pid, number)
    child.join(timeout=60)
    assert child.exitcode == 130
    assert not (folder / RESULT).exists()
    run = state_of(folder)["run"]
    assert 0 < run["epoch"] * 10 + run["step"] < 400
    train(config, execution(tmp_path))
    assert outcome(folder) == outcome(trained(config))


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
            train(config, execution(tmp_path, wait=True))
    finally:
        ended.set()
        other.join()
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("both", [False, True])
def test_a_damaged_checkpoint_costs_time_but_no_bit(small_run, trained, tmp_path, capsys, both):
    config = small_run()
    folder = trained(config)
    expected = outcome(folder)
    (folder / RESULT).unlink()
    for name in (STATE, PREVIOUS) if both else (STATE,):
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)
    train(config, execution(tmp_path / "runs"))
    messages = capsys.readouterr().err
    assert "state.pt is damaged (its checksum is wrong)" in messages or "while reading" in messages
    assert ("starts over" in messages) == both
    assert "set aside as state.damaged-" in notes(folder)[0]
    assert outcome(folder) == expected


def test_checkpoints_of_another_network_are_set_aside_and_training_starts_over(
    small_run, trained, tmp_path, capsys
):
    config = small_run()
    folder, other = trained(config), trained(small_run("erm", network="own_lab:plain"))
    expected = outcome(folder)
    (folder / RESULT).unlink()
    for name in (STATE, PREVIOUS):
        (folder / name).write_bytes((other / name).read_bytes())
    train(config, execution(tmp_path / "runs"))
    assert "does not belong to this run (other weights" in capsys.readouterr().err
    assert len(notes(folder)) == 3
    assert outcome(folder) == expected


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("train", "other training images of mnist"),
        ("val", "other validation images of mnist"),
        ("fonts", "other test images of fonts"),
    ],
)
def test_a_run_is_not_resumed_with_other_images(small_run, trained, tmp_path, changed, message):
    config = small_run()
    folder = trained(config)
    (folder / RESULT).unlink()
    state = state_of(folder)
    write_state(RunDirectory(folder), {**state, "data": state["data"] | {changed: "other"}})
    with pytest.raises(RunError, match=message):
        train(config, execution(tmp_path / "runs"))


def test_weights_that_are_not_finite_end_the_run_and_never_reach_a_checkpoint(small_run, tmp_path):
    config = small_run("own_learners:Explosion", options={"step": 15})
    with pytest.raises(DivergedError, match="not finite in epoch 2"):
        train(config, execution(tmp_path, checkpoint_minutes=0))
    folder = config.directory(tmp_path)
    state = state_of(folder)
    assert (state["run"]["epoch"], state["run"]["step"]) == (1, 4)
    assert all(torch.isfinite(value).all() for value in network_weights(state).values())
    assert not (folder / RESULT).exists()


@pytest.mark.parametrize("between", [1, 4, 50])
def test_the_step_that_fails_is_kept_however_rarely_losses_are_read(
    small_run, tmp_path, monkeypatch, between
):
    monkeypatch.setattr(training, "STEPS_BETWEEN_CHECKS", between)
    config = small_run("own_learners:Failure", options={"step": 17}, network="own_lab:normalised")
    with pytest.raises(DivergedError, match="the loss is inf in epoch 2, step 7"):
        train(config, execution(tmp_path))
    folder = config.directory(tmp_path)
    assert state_of(folder)["run"]["epoch"] == 1
    assert replay(folder, trust_code=True).item() == float("inf")
    step = torch.load(folder / "nan-rank0.pt", weights_only=True)
    assert int(step["learner"]["done"]) == 17
    assert step["images"].shape == (32, 3, 32, 32)


@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_learner_is_given_the_domain_of_each_image_also_after_a_resume(
    three_sources, tmp_path, devices
):
    def noted(name):
        texts = [(tmp_path / name / f"domains{n}.jsonl").read_text() for n in range(devices)]
        return [[json.loads(line) for line in text.splitlines()] for text in texts]

    def run(name, **options):
        (tmp_path / name).mkdir(exist_ok=True)
        options = {"folder": str(tmp_path / name)} | options
        train(three_sources(devices=devices, options=options), execution(tmp_path / "runs"))

    run("through")
    processes = [lines[1:] for lines in noted("through")]  # the first step of a process is a trial
    lines = [line for process in processes for line in process]
    assert {line["of"] for line in lines} == {3}
    pairs = {
        (domain, round(brightness, 3))
        for line in lines
        for domain, brightness in zip(line["domains"], line["brightness"], strict=True)
    }
    found = sorted(pairs)
    assert [domain for domain, _ in found] == [0, 1, 2]
    assert [brightness for _, brightness in found] == sorted(brightness for _, brightness in found)
    with pytest.raises(StoppedError, match="stopped and saved in epoch 1, after step 2"):
        run("stopped", stop=3)
    run("stopped", stop=3)
    for through, stopped in zip(processes, noted("stopped"), strict=True):
        assert [*stopped[1:3], *stopped[4:]] == through


def test_a_growing_learner_counts_its_images(growing, trained):
    folder = trained(growing())
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    assert [line["images"] for line in lines] == [96, 96 + 64, 96 + 128]


@pytest.mark.parametrize(
    ("place", "message", "run"),
    [
        ("ascent2-1", "stopped while an epoch was prepared in epoch 3, after step 0", (2, 0)),
        ("step11", "stopped and saved in epoch 3, after step 3 of 7", (2, 3)),
    ],
)
def test_a_growing_learner_that_is_stopped_ends_with_the_same_bits(
    growing, trained, tmp_path, place, message, run
):
    expected = outcome(trained(growing()))
    for path in (tmp_path / "ascents").iterdir():
        path.unlink()
    config = growing(stop_in=place)
    with pytest.raises(StoppedError, match=message):
        train(config, execution(tmp_path / "runs"))
    folder = config.directory(tmp_path / "runs")
    state = state_of(folder)["run"]
    assert (state["epoch"], state["step"]) == run
    ascent = tmp_path / "ascents" / "ascent2-0"
    ascent.unlink()
    train(config, execution(tmp_path / "runs"))
    assert ascent.exists() == place.startswith("ascent")  # repeated only if it was stopped
    assert all(outcome(folder)[name] == expected[name] for name in (BEST, METRICS))
