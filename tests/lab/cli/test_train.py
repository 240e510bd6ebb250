"""The command that trains: its defaults, what it accepts and refuses."""

import json
from dataclasses import replace

import pytest

from prorandconv.lab.cli.train import Train
from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.study import estimate

SMALL = ["--benchmark", "digits-mini", "--network", "own_lab:tiny", "--epochs", "2"]
SMALL += ["--train-images", "64", "--test-images", "40", "--quiet"]


@pytest.mark.parametrize(
    ("words", "epochs", "network", "source"),
    [
        ("train", 500, "lenet", ("mnist",)),
        ("train --benchmark pacs --source photo", 50, "resnet18", ("photo",)),
        ("train --benchmark=pacs --source photo art", 150, "resnet18", ("art", "photo")),
    ],
)
def test_defaults_are_those_of_the_benchmark_on_the_command_line(words, epochs, network, source):
    config = Train.defaults(words.split()[1:]).run_config
    assert (config.epochs, config.network, config.source) == (epochs, network, source)


def test_help_explains_the_fields_and_the_options_of_the_method(run):
    code, out, _ = run("train", "--method", "randconv", "--help")
    text = " ".join(out.replace("│", " ").split())
    assert code == 0
    assert "domain or domains to train on" in text
    assert "--options.kernel-sizes" in text
    assert "--options.max-repeats" not in text


def test_a_long_run_is_announced_before_it_starts(run, mini, tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "long_run_warning", lambda config, execution: "takes 9 h")
    _, _, err = run("train", *SMALL, "--method", "erm", "--runs", tmp_path)
    assert err.splitlines()[0] == "takes 9 h"


def test_training_prints_the_targets_and_the_directory(run, mini, tmp_path):
    code, out, _ = run("train", *SMALL, "--method", "erm", "--runs", tmp_path)
    assert code == 0
    for name in ("optdigits", "mnist_m_like", "fonts", "numbers", "average", "oracle"):
        assert name in out
    (folder,) = (tmp_path / "digits-mini" / "erm" / "mnist").iterdir()
    assert folder.name in out


def test_a_folder_of_runs_that_is_a_file_is_a_sentence(run, mini, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = run("train", *SMALL, "--method", "erm", "--runs", tmp_path / "file")
    assert code == 2
    assert err.startswith(f"prorandconv: {tmp_path / 'file'}")


def test_a_saved_config_is_trained_and_changed_by_further_words(run, mini, tmp_path):
    config = RunConfig.paper(
        "digits-mini",
        options={"max_repeats": 3},
        network="own_lab:tiny",
        epochs=1,
        train_images=64,
        test_images=40,
    )
    (tmp_path / "config.json").write_text(json.dumps(config.to_mapping()))
    words = ("--config", tmp_path / "config.json", "--seed", "5", "--quiet", "--runs", tmp_path)
    words += ("--trust-code",)
    assert run("train", *words)[0] == 0
    (stored,) = tmp_path.glob("digits-mini/pro-randconv/mnist/*/config.json")
    assert json.loads(stored.read_text()) == config.to_mapping() | {"seed": 5}


def test_options_on_the_command_line_come_before_what_images_decide():
    config = Train.defaults(["--benchmark", "pacs"]).run_config
    assert config.options.output == "auto"
    without = replace(config, options=replace(config.options, contrast=False))
    assert without.renewed().options.output == "tanh"
    assert config.renewed().options.output == "pixels"


def test_a_misspelt_field_in_a_file_is_refused_with_the_nearest_name(run, tmp_path):
    (tmp_path / "config.json").write_text('{"bach_size": 3}')
    code, _, err = run("train", "--config", tmp_path / "config.json")
    assert code == 2
    assert "did you mean 'batch_size'?" in err


def test_a_misspelt_flag_is_refused_with_the_nearest_name(run):
    code, _, err = run("train", "--epoch", "3")
    assert code == 2
    assert "--epochs" in err


def test_code_that_a_file_names_is_imported_only_if_trusted(run, tmp_path):
    (tmp_path / "config.json").write_text('{"method": "builtins:print"}')
    code, _, err = run("train", "--config", tmp_path / "config.json")
    assert code == 2
    assert "--trust-code" in err
