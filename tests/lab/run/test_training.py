import errno
import json
import os

import pytest
import torch
from PIL import Image

from prorandconv import ProRandConvError
from prorandconv.lab.errors import DataError
from prorandconv.lab.run.checkpoint import checksum
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.directory import (
    BEST,
    METRICS,
    RESULT,
    STATE,
    RunDirectory,
    RunError,
)
from prorandconv.lab.run.distributed import Ranks
from prorandconv.lab.run.optimisation import try_step
from prorandconv.lab.run.signals import StopRequest
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.run.training import Run, train


def lines(folder):
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def outcome(folder):
    """What must be equal bit for bit; wall-clock times are in timing.jsonl, which is not here."""
    return {name: (folder / name).read_bytes() for name in (RESULT, METRICS, BEST)}


@pytest.fixture
def done(small_run, trained, tmp_path):
    config = small_run()
    folder = trained(config, tmp_path)
    return config, folder, json.loads((folder / RESULT).read_text())


def test_a_directory_holds_what_the_design_says(done):
    _, folder, result = done
    names = {path.name for path in folder.iterdir()} - {".lock"}
    assert names == {
        "config.json",
        "environment.json",
        "metrics.jsonl",
        "timing.jsonl",
        "state.pt",
        "state.previous.pt",
        "best.safetensors",
        "result.json",
    }
    assert json.loads((folder / RESULT).read_text()) == result


def test_metrics_have_a_line_an_epoch_and_targets_when_it_is_their_turn(done):
    config, folder, _ = done
    found = lines(folder)
    assert [line["epoch"] for line in found] == [1, 2, 3]
    assert ["targets" in line for line in found] == [False, True, True]
    assert all(line["images"] == 320 for line in found)
    assert found[0]["learning_rate"] == config.learning_rate


def test_the_result_has_three_choices_of_weights(done):
    _, folder, result = done
    found = lines(folder)
    accuracies = [line["val_accuracy"] for line in found]
    assert result["best_validation"]["epoch"] == accuracies.index(max(accuracies)) + 1
    assert result["last"]["epoch"] == 3
    assert result["oracle"]["oracle"] is True
    averages = [line["average"] for line in found if "average" in line]
    assert result["oracle"]["average"] == max(*averages, result["best_validation"]["average"])
    assert result["last"]["average"] == averages[-1]


def test_the_result_counts_confusions_by_class(done):
    _, _, result = done
    for target in result["best_validation"]["targets"].values():
        counts = torch.tensor(target["confusion"])
        assert counts.shape == (10, 10)
        assert counts.sum() == target["images"] == 100
        assert target["accuracy"] == pytest.approx(float(100 * counts.trace() / 100))
        expected = (100 * counts.diag() / counts.sum(1)).tolist()
        assert target["per_class"] == pytest.approx(expected)


def test_targets_are_the_domains_that_are_no_sources(done):
    _, _, result = done
    assert result["averaged"] == ["optdigits", "mnist_m_like", "fonts", "numbers"]
    assert "mnist" not in result["best_validation"]["targets"]


def test_the_same_config_returns_the_result_without_training(done, tmp_path):
    config, folder, result = done
    before = (folder / STATE).stat().st_mtime_ns
    assert train(config, Execution(runs=tmp_path)) == result
    assert (folder / STATE).stat().st_mtime_ns == before


def test_the_same_config_gives_the_same_bits_elsewhere(done, tmp_path):
    config, folder, _ = done
    other = tmp_path / "other"
    train(config, Execution(runs=other, quiet=True, checkpoint_minutes=0))
    assert outcome(config.directory(other)) == outcome(folder)


def test_another_seed_gives_other_weights(done, small_run, tmp_path):
    _, folder, _ = done
    config = small_run(seed=1)
    train(config, Execution(runs=tmp_path, quiet=True))
    assert (config.directory(tmp_path) / BEST).read_bytes() != (folder / BEST).read_bytes()


def test_a_run_in_use_raises_an_error(small_run, tmp_path):
    config = small_run()
    directory = RunDirectory(config.directory(tmp_path))
    with directory.locked(), pytest.raises(RunError, match="is in use by another process"):
        train(config, Execution(runs=tmp_path, quiet=True))


@pytest.mark.parametrize(
    ("method", "found"),
    [
        ("own_lab:no_tensor", "which gives a float"),
        ("own_lab:by_image", r"which gives a tensor of shape \(4,\)"),
        ("own_lab:without_gradient", "which gives a loss without gradient"),
        ("own_lab:demanding", "which raises AttributeError: 'Sequential' object has no attribute"),
    ],
)
def test_a_method_that_does_not_fit_raises_an_error_before_the_first_step(
    small_run, tmp_path, method, found
):
    with pytest.raises(ProRandConvError, match=f"method: got .{method}, {found}"):
        train(small_run(method), Execution(runs=tmp_path, quiet=True))
    assert not list(tmp_path.rglob(STATE))


def test_the_trial_of_a_method_leaves_no_trace_in_the_run(small_run, tmp_path):
    config = small_run("own_lab:weighted", network="own_learners:network")
    run = Run(Ranks(torch.device("cpu")), config, Execution(runs=tmp_path), None, StopRequest())

    def state():
        """Dropout draws, and batch normalisation counts."""
        return checksum([run.state.learner.state_dict(), run.state.generators()])

    before = state()
    batch = next(run.data.batches(run.ranks, torch.Generator()).with_domains())
    try_step(config, run.state.learner, batch)
    assert state() == before
    next(run.state.learner.train().step(batch, None))  # which a trial is not
    assert state() != before


def test_a_full_disk_at_the_timing_does_not_end_a_run(small_run, tmp_path, capsys, monkeypatch):
    def full(self, name, line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(RunDirectory, "append_line", full)
    result = train(small_run("erm", epochs=1), Execution(runs=tmp_path, quiet=True))
    assert result["last"]["epoch"] == 1
    assert "timing.jsonl could not be written: No space left on device" in capsys.readouterr().err


def test_one_image_of_each_class_is_too_few_and_said_so(mini, write, tmp_path):
    write.tree(tmp_path / "own", ("one", "two"), ("cat", "dog"), count=1, size=32)
    config = RunConfig.paper("folder", "one", "erm", data_root=tmp_path / "own", epochs=1)
    with pytest.raises(DataError, match="no images for the val split; some class needs two images"):
        train(config, Execution(runs=tmp_path / "runs", quiet=True))


def test_several_sources_and_one_target_are_the_same_code(mini, write, tmp_path):
    write.tree(tmp_path / "own", ("one", "two", "three"), ("cat", "dog"), count=12, size=32)
    config = RunConfig.paper(
        "folder",
        ["one", "two"],
        "erm",
        data_root=tmp_path / "own",
        network="own_lab:plain",
        epochs=1,
        batch_size=8,
    )
    result = train(config, Execution(runs=tmp_path / "runs", quiet=True))
    assert list(result["last"]["targets"]) == ["three"]
    assert result["last"]["targets"]["three"]["images"] == 24
    assert config.directory(tmp_path / "runs").parent.name == "one+two"
    assert result["images"]["train"] + result["images"]["val"] == 48


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_trained_network_is_measured_again_with_the_same_result(small_run, tmp_path, precision):
    config = small_run("erm", network="own_lab:precision_bound", precision=precision, epochs=1)
    result = train(config, Execution(runs=tmp_path, quiet=True, accelerator="cpu"))
    folder = config.directory(tmp_path)
    found = load_trained(folder, accelerator="cpu", trust_code=True).evaluate()
    expected = result["best_validation"]["targets"]
    assert {name: one.to_mapping() for name, one in found.items()} == expected


def test_a_trained_network_predicts_files(done, tmp_path):
    _, folder, _ = done
    Image.new("L", (28, 28)).save(tmp_path / "black.png")
    (found,) = load_trained(folder, "last", trust_code=True).predict([tmp_path / "black.png"])
    assert found.label in "0123456789"
    assert 0.1 <= found.probability <= 1


def test_tensorboard_gets_the_metrics(small_run, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = small_run(epochs=2)
    train(config, Execution(runs=tmp_path, quiet=True, tensorboard=True))
    folder = config.directory(tmp_path)
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    losses = [event.value for event in events.Scalars("train_loss")]
    assert losses == pytest.approx([line["train_loss"] for line in lines(folder)])
    assert "targets/fonts" in events.Tags()["scalars"]


def test_a_run_on_photos_is_trained_and_used_at_its_own_size(own_data, tmp_path):
    config = own_data.config(image_size=20)
    result = train(config, Execution(runs=tmp_path, quiet=True))
    trained = load_trained(config.directory(tmp_path), trust_code=True)
    assert trained.config.format.image_size == 20
    assert trained.benchmark.load("two", "test").format.image_size == 20
    found = trained.evaluate()["two"].to_mapping()
    assert found == result["best_validation"]["targets"]["two"]
    assert train(config, Execution(runs=tmp_path, quiet=True)) == result
