"""The commands on runs: what they accept, print and return."""

import json

import pytest
from PIL import Image
from rich.console import Console

from prorandconv.lab.cli.run import targets_table, train_defaults
from prorandconv.lab.paper import paper_row
from prorandconv.lab.quickstart import quickstart, sheet
from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.run.training import Result
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
    config = train_defaults(words.split()).run_config
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

    code, out, _ = run("evaluate", folder, "--json", "--trust-code")
    expected = json.loads((folder / "result.json").read_text())["best_validation"]["targets"]
    assert (code, json.loads(out)) == (0, expected)
    assert "optdigits" in run("evaluate", folder, "--which", "last", "--trust-code")[1]

    Image.new("L", (28, 28)).save(tmp_path / "black.png")
    code, out, _ = run("predict", folder, tmp_path / "black.png", "--trust-code")
    assert code == 0
    assert "black.png: " in out


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


def test_a_misspelt_field_in_a_file_is_refused_with_the_nearest_name(run, tmp_path):
    (tmp_path / "config.json").write_text('{"bach_size": 3}')
    code, _, err = run("train", "--config", tmp_path / "config.json")
    assert code == 2
    assert "got 'bach_size', expected 'batch_size'" in err


def test_a_misspelt_flag_is_refused_with_the_nearest_name(run):
    code, _, err = run("train", "--epoch", "3")
    assert code == 2
    assert "--epochs" in err


def test_a_directory_that_is_no_run_is_refused(run, tmp_path):
    code, _, err = run("evaluate", tmp_path)
    assert code == 2
    assert "a run's directory" in err


def printed(table):
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table)
    return console.export_text()


def test_the_papers_figures_stand_beside_ours_and_averages_are_over_the_same_targets():
    accuracies = {"svhn": 60.0, "mnist_m": 80.0, "usps": 70.0}
    result: Result = {
        "averaged": list(accuracies),
        "absent": ["syn"],
        "last": {"epoch": 3, "targets": {n: {"accuracy": a} for n, a in accuracies.items()}},
    }
    text = printed(targets_table(result, paper_row(RunConfig.paper("digits"))))
    assert "Table 1" in text
    assert "93.67" in text
    assert "absent" in text
    assert "70.00" in text
    assert "81.88" in text


def test_quickstart_writes_table_plot_and_sheet(mini, tmp_path):
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    small = {"network": "own_lab:tiny", "train_images": 64, "test_images": 40}
    assert quickstart(console, tmp_path / "quickstart", epochs=1, seeds=(0, 1), **small) == 0
    text = console.export_text()
    assert "Pro-RandConv" in text
    assert "average" in text
    record = json.loads((tmp_path / "quickstart" / "results.json").read_text())
    assert len(record["accuracy"]["average"]["pro-randconv"]) == 2
    assert "| Pro-RandConv |" in (tmp_path / "quickstart" / "results.md").read_text()
    for name in ("accuracy.png", "accuracy.svg", "augmented.png"):
        assert (tmp_path / "quickstart" / name).stat().st_size > 500


def test_the_sheet_shows_originals_above_their_augmented_versions(mini):
    picture = sheet(draws=2)
    assert picture.size == (90 + 10 * 68, 3 * 68 + 4)
    assert len(picture.crop((90, 4, 154, 68)).convert("RGB").getcolors(10_000)) > 2
