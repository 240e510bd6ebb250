"""What a run consists of, made from its config alone."""

import shutil

import pytest
import torch

from prorandconv.lab.data.samples import Batch
from prorandconv.lab.errors import DataError
from prorandconv.lab.run.data import benchmark_of, learner_of, network_of


def test_network_and_learner_need_no_data(own_data):
    config = own_data.config()
    shutil.rmtree(own_data.root)
    learner = learner_of(config, network_of(config))
    images = torch.zeros(2, 3, 224, 224)
    batch = Batch(images, torch.tensor([0, 1]), torch.tensor([0, 0]))
    (losses,) = learner.step(batch, torch.Generator())
    assert learner.network(images).shape == (2, 2)
    assert torch.isfinite(losses["network"])


def test_initial_weights_are_loaded_only_to_begin_with(own_data, tmp_path):
    network = network_of(own_data.config())
    torch.nn.init.constant_(network[2].bias, 7.0)
    torch.save(network.state_dict(), tmp_path / "w.pth")
    config = own_data.config(weights=tmp_path / "w.pth")
    assert network_of(config, initial=True)[2].bias.tolist() == [7.0, 7.0]
    (tmp_path / "w.pth").unlink()
    assert network_of(config)[2].bias.tolist() != [7.0, 7.0]


def test_the_benchmark_is_the_one_that_the_config_names(own_data):
    config = own_data.config()
    assert benchmark_of(config).classes == ("cat", "dog")
    (own_data.root / "two").rename(own_data.root / "three")
    with pytest.raises(DataError, match="holds other domains and images"):
        benchmark_of(config)
