"""Which weights count: by validation, by shifted validation, or the last."""

import json
import statistics

import pytest
import safetensors.torch
import torch

from prorandconv.lab.data.shifts import FAMILIES
from prorandconv.lab.run.checkpoint import read_state
from prorandconv.lab.run.directory import BEST, METRICS, RESULT, RunDirectory
from prorandconv.lab.run.evaluation import EpochMetrics
from prorandconv.lab.run.state import Progress
from prorandconv.lab.run.stored import selected
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.study.plan import Reading
from prorandconv.lab.tasks import Accuracy


def metrics(folder):
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def weights(folder):
    return safetensors.torch.load_file(folder / BEST)


def same(one, other):
    return all(torch.equal(value, other[name]) for name, value in one.items())


def test_shifted_validation_is_measured_by_family_at_each_epoch(small_run, trained):
    folder = trained(small_run("erm", shifted_validation=True, epochs=2))
    for line in metrics(folder):
        assert tuple(line["shifted"]) == tuple(FAMILIES)
        assert line["val_shifted"] == statistics.fmean(line["shifted"].values())


def test_measuring_shifts_changes_no_weight(small_run, trained):
    plain = trained(small_run("erm", epochs=2))
    measured = trained(small_run("erm", epochs=2, shifted_validation=True))
    assert plain != measured
    assert same(weights(plain), weights(measured))
    assert "val_shifted" not in metrics(plain)[0]


def test_selecting_by_shifted_validation_measures_it(small_run):
    config = small_run(select="val-shifted")
    assert config.shifted_validation
    assert config == small_run(select="val-shifted", shifted_validation=True)


def accuracy(percent):
    return Accuracy(((percent, 100 - percent), (0, 0)))


def ended(accuracies):
    """The state of a run whose epochs had these accuracies: plain, and under two shifts."""
    state = Progress()
    for right, one, other in accuracies:
        state.images_seen = 1
        state.end_epoch(EpochMetrics(accuracy(right), {}, None, {"a": one, "b": other}), 0.1)
    return state


def test_each_choice_takes_its_own_epoch_and_of_equal_ones_the_first():
    state = ended([(80, 10.0, 50.0), (90, 10.0, 20.0), (90, 30.0, 30.0), (70, 0.0, 0.0)])
    assert state.selected_epochs() == {"best_validation": 2, "best_shifted": 1, "last": 4}


@pytest.mark.parametrize(("earlier", "oracle"), [(40, 3), (70, 2)])
def test_the_oracle_is_the_best_of_all_epochs_with_measured_targets(earlier, oracle):
    state = Progress()
    for right, target in ((80, None), (90, None), (70, 60), (60, 50)):
        state.images_seen = 1
        targets = None if target is None else {"t": accuracy(target)}
        average = None if target is None else float(target)
        state.end_epoch(EpochMetrics(accuracy(right), targets, average, {}), 0.1)
    figures = state.figures("accuracy", ["t"], {2: {"t": accuracy(earlier)}})
    assert figures["best_validation"]["average"] == earlier
    assert figures["last"]["average"] == 50
    assert (figures["oracle"]["epoch"], figures["oracle"]["average"]) == (oracle, max(earlier, 60))
    assert figures["oracle"]["oracle"] is True


@pytest.mark.parametrize("select", ["val", "val-shifted", "last"])
def test_the_selected_weights_are_written_and_their_figures_are_read(select, small_run, trained):
    config = small_run("erm", select=select, shifted_validation=True, network="own_lab:plain")
    folder = trained(config)
    result = json.loads((folder / RESULT).read_text())
    name = {"val": "best_validation", "val-shifted": "best_shifted", "last": "last"}[select]
    assert result["selected"] == name
    assert selected(result) == result[name]
    assert {"best_validation", "best_shifted", "last", "oracle"} < set(result)
    found = load_trained(folder, trust_code=True).evaluate()
    measured = {target: one.to_mapping() for target, one in found.items()}
    assert measured == result[name]["targets"]
    targets = tuple(result["averaged"])
    assert Reading(config, targets).value(result) == pytest.approx(result[name]["average"])


def test_weights_of_another_choice_are_kept_in_the_checkpoint(small_run, trained):
    folder = trained(small_run("erm", select="last", epochs=3))
    result = json.loads((folder / RESULT).read_text())
    state, _ = read_state(RunDirectory(folder))
    best = result["best_validation"]["epoch"]
    assert set(state["others"]) == {best} - {3}
    assert same(state["best"], weights(folder))


def test_the_figures_that_count_are_those_of_the_named_choice():
    stored = {"selected": "last", "best_validation": {"epoch": 3}, "last": {"epoch": 5}}
    assert selected(stored) == {"epoch": 5}


def test_a_result_of_before_there_was_a_choice_is_that_of_best_validation():
    assert selected({"best_validation": {"epoch": 3}, "last": {"epoch": 5}}) == {"epoch": 3}
