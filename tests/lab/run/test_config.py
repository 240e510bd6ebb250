import dataclasses
import json

import pytest
import torch

from prorandconv import ProRandConvError
from prorandconv.lab.run.config import RunConfig


def test_the_papers_run_on_digits_needs_no_options():
    config = RunConfig.paper("digits")
    assert config.source == ("mnist",)
    assert (config.network, config.epochs, config.batch_size) == ("lenet", 500, 64)
    assert (config.learning_rate, config.momentum, config.schedule) == (0.01, 0.9, "cosine")
    assert config.method == "pro-randconv"
    assert not config.pretrained


def test_the_papers_runs_on_pacs_differ_between_one_and_several_sources():
    single = RunConfig.paper("pacs", "photo")
    multi = RunConfig.paper("pacs", ["photo", "art", "cartoon"])
    assert (single.epochs, multi.epochs) == (50, 150)
    assert single.pretrained
    assert single.weight_decay == 5e-4


def test_sources_are_a_set():
    one = RunConfig.paper("pacs", ["photo", "art_painting"])
    other = RunConfig.paper("pacs", ["art", "photo"])
    assert one == other
    assert one.source == ("art", "photo")


def test_a_config_survives_being_stored(tmp_path):
    options = {"smoothing": None, "offsets": [0.1, 0.3], "selection": 0.25, "contrast": ["tanh"]}
    config = RunConfig.paper("digits", options=options, data_root=tmp_path, epochs=3)
    (tmp_path / "config.json").write_text(json.dumps(config.to_mapping()))
    assert RunConfig.read(tmp_path / "config.json") == config
    assert config.options.offsets == (0.1, 0.3)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"epohcs": 3}, "got 'epohcs', .* did you mean 'epochs'"),
        ({"options": {"max_repeat": 3}}, "got 'max_repeat', .* did you mean 'max_repeats'"),
        ({"epochs": "3"}, "epochs: got '3'"),
        ({"epochs": 0}, "epochs: got 0"),
        ({"options": {"selection": "bth"}}, "selection: got 'bth'"),
        ({"method": "randcov"}, "did you mean 'randconv'"),
        ({"benchmark": "digit"}, "did you mean 'digits'"),
        ({"source": ["mnst"]}, "did you mean 'mnist'"),
        ({"batch_size": 63, "devices": 2}, "a multiple of the 2 processes"),
        ({"learning_rate": -1.0}, "learning_rate: got -1.0"),
    ],
)
def test_a_wrong_field_is_refused_with_what_would_be_right(stored, message):
    with pytest.raises(ProRandConvError, match=message):
        RunConfig.from_mapping(stored)


def test_everything_that_changes_a_result_changes_the_hash(tmp_path):
    config = RunConfig.paper("digits")
    changes = {
        "seed": 1,
        "epochs": 3,
        "method": None,
        "train_images": 5,
        "devices": 2,
        "target_every": 1,
        "deterministic": False,
        "network": "alexnet",
    }
    hashes = {config.hash}
    for name, value in changes.items():
        if name == "method":
            hashes.add(RunConfig.paper("digits", options={"max_repeats": 9}).hash)
        else:
            hashes.add(dataclasses.replace(config, **{name: value}).hash)
    assert len(hashes) == len(changes) + 1


def test_where_the_data_lies_does_not_change_the_hash(tmp_path):
    assert RunConfig.paper("digits").hash == RunConfig.paper("digits", data_root=tmp_path).hash


def test_a_file_of_weights_counts_by_its_content(tmp_path):
    for name, value in (("a", 0.0), ("b", 0.0), ("c", 1.0)):
        torch.save(torch.tensor(value), tmp_path / name)
        (tmp_path / name).write_bytes(str(value).encode())
    hashes = [RunConfig.paper("digits", weights=tmp_path / name).hash for name in "abc"]
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_directory_says_what_the_run_is(tmp_path):
    config = RunConfig.paper("pacs", ["photo", "art"], "erm")
    assert config.directory(tmp_path) == tmp_path / "pacs" / "erm" / "art+photo" / config.hash
