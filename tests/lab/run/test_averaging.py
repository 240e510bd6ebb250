"""Averages of the weights: their formulas, batch normalisation, resuming, several processes."""

import json

import pytest
import safetensors.torch
import torch
from torch import nn

from prorandconv.lab.data.samples import Batch
from prorandconv.lab.methods.learner import OneLoss, cross_entropy
from prorandconv.lab.run.checkpoint import checksum, read_state
from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.run.directory import BEST, RESULT, RunDirectory
from prorandconv.lab.run.state import WeightAverage
from prorandconv.lab.run.trained import load_trained


def average_of(kind, network, epochs=4):
    config = RunConfig.paper("digits", method="erm", average=kind, epochs=epochs)
    return WeightAverage(config, OneLoss(network, cross_entropy))


def after(kind, values, steps=2):
    """The average of one weight that has these values after the steps, so many an epoch."""
    network = nn.Linear(1, 1, bias=False)
    average = average_of(kind, network, epochs=len(values) // steps)
    for number, value in enumerate(values):
        network.weight.data.fill_(value)
        average.update(number // steps)
    return average.weights["weight"].item()


def test_swad_is_the_mean_over_the_steps_of_the_second_half():
    assert after("swad", [100.0, 100.0, 1.0, 4.0]) == pytest.approx(2.5)
    assert after("swad", [9.0] * 4 + [1.0, 2.0, 3.0, 10.0]) == pytest.approx(4.0)


def test_ema_forgets_with_a_decay_that_rises_to_its_limit():
    values = [float(n % 7) for n in range(12000)]
    expected = values[0]
    for count, value in enumerate(values[1:], 2):
        share = max(0.001, 10 / (9 + count))
        expected += share * (value - expected)
    assert after("ema", values) == pytest.approx(expected, rel=1e-4)
    assert after("ema", [5.0, 5.0]) == 5.0


def normalising():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 4, bias=False), nn.BatchNorm1d(4))


def batch(images):
    return Batch(images, torch.arange(len(images)) % 4, torch.zeros(len(images)))


def test_statistics_of_batch_normalisation_are_those_of_the_average_weights():
    network = normalising()
    average = average_of("swad", network, epochs=1)
    for _ in range(3):
        network[1].weight.data.normal_()
        average.update(0)
    batches = [batch(torch.randn(8, 3, 2, 2)) for _ in range(5)]
    with average.applied(batches):
        assert torch.equal(network[1].weight, average.weights["1.weight"])
        hidden = [images.flatten(1) @ average.weights["1.weight"].T for images, _, _ in batches]
        mean = torch.stack([one.mean(0) for one in hidden]).mean(0)
        variance = torch.stack([one.var(0) for one in hidden]).mean(0)
        torch.testing.assert_close(network[2].running_mean, mean)
        torch.testing.assert_close(network[2].running_var, variance)


def test_the_run_goes_on_with_its_own_weights_statistics_and_generators():
    network = normalising()
    average = average_of("ema", network)
    average.update(0)
    network[1].weight.data.normal_()
    before, drawn = checksum(network.state_dict()), torch.get_rng_state()
    images = torch.randn(8, 3, 2, 2, generator=torch.Generator())
    with average.applied([batch(images)]):
        assert checksum(network.state_dict()) != before
    assert checksum(network.state_dict()) == before
    assert network[2].momentum == 0.1
    assert torch.equal(torch.get_rng_state(), drawn)


def test_without_an_average_nothing_is_kept():
    average = average_of("none", normalising())
    average.update(3)
    assert average.weights == {}


@pytest.fixture(params=["ema", "swad"])
def averaged(request, small_run):
    """Makes the config of a run that averages, of a network with batch normalisation."""

    def make(method="pro-randconv", **changes):
        changes = {"network": "own_lab:normalised", "average": request.param} | changes
        return small_run(method, **changes)

    return make


@pytest.mark.parametrize("which", ["best", "last"])
def test_the_average_is_what_is_measured_and_loaded(averaged, trained, which):
    folder = trained(averaged())
    result = json.loads((folder / RESULT).read_text())
    found = load_trained(folder, which, trust_code=True).evaluate()
    measured = {name: one.to_mapping() for name, one in found.items()}
    assert measured == result["last" if which == "last" else "best_validation"]["targets"]


def test_averaging_changes_no_step(averaged, small_run, trained):
    folders = [
        trained(config)
        for config in (averaged(), small_run("pro-randconv", network="own_lab:normalised"))
    ]
    states = [read_state(RunDirectory(folder))[0] for folder in folders]
    assert checksum(states[0]["learner"]) == checksum(states[1]["learner"])
    assert checksum(states[0]["average"]["evaluated"]) != checksum(states[1]["best"])


def test_two_processes_have_the_average_of_one(small_run, trained):
    found = []
    for devices in (1, 2):
        changes = {"network": "own_lab:plain", "average": "ema", "train_images": 64}
        config = small_run("erm", epochs=2, devices=devices, **changes)
        found.append(safetensors.torch.load_file(trained(config) / BEST))
    for name, value in found[0].items():
        assert torch.allclose(value, found[1][name], atol=1e-5)
