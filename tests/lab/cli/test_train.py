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
    assert without.with_changes().options.output == "tanh"
    assert config.with_changes().options.output == "pixels"


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


@pytest.mark.parametrize(
    ("words", "jitter", "consistency"),
    [
        ("--recipe plus", 0.25, 5.0),
        ("--recipe=plus --jitter 0.5", 0.5, 5.0),
        ("--recipe plus --options.consistency 1", 0.25, 1.0),
        ("--recipe paper", 0.0, 0.0),
    ],
)
def test_a_recipe_sets_defaults_that_further_words_change(
    run, mini, tmp_path, words, jitter, consistency
):
    assert run("train", *SMALL, *words.split(), "--runs", tmp_path)[0] == 0
    (stored,) = tmp_path.glob("digits-mini/pro-randconv/mnist/*/config.json")
    config = json.loads(stored.read_text())
    assert (config["jitter"], config["options"]["consistency"]) == (jitter, consistency)


def test_a_methods_authors_have_a_recipe():
    config = Train.defaults(["--method", "ada", "--recipe", "authors"]).run_config
    assert (config.optimiser, config.learning_rate, config.batch_size) == ("adam", 1e-4, 32)
    assert (config.schedule, config.epochs, config.options.growths) == ("constant", 32, 6)
    config = Train.defaults(["--method", "ada", "--benchmark", "pacs"]).run_config
    assert (config.optimiser, config.batch_size, config.options.growths) == ("sgd", 64, 3)


def test_a_recipe_changes_a_config_file(run, mini, tmp_path):
    (tmp_path / "config.json").write_text('{"benchmark": "digits-mini", "epochs": 7}')
    config = Train.defaults(["--config", str(tmp_path / "config.json"), "--recipe", "plus"])
    assert (config.run_config.epochs, config.run_config.jitter) == (7, 0.25)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--recipe plus --method erm", "plus with erm on digits"),
        ("--recipe plus --benchmark shapes-mini", "on shapes-mini"),
        ("--recipe authors --method erm", "its authors' recipe of a method that has one"),
        ("--recipe authors --method l2d", "authors with l2d on digits"),
        ("--recipe pluss", "did you mean 'plus'?"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(run, words, message):
    code, _, err = run("train", *words.split())
    assert code == 2
    assert err.startswith("prorandconv: recipe")
    assert message in err
