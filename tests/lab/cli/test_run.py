"""The commands on runs: what they accept, print and return."""

import json

from PIL import Image
from rich.console import Console

from prorandconv.lab.cli.run import targets_table
from prorandconv.lab.paper import paper_row
from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.run.training import Result
from prorandconv.lab.study import estimate

SMALL = ["--benchmark", "digits-mini", "--network", "own_lab:tiny", "--epochs", "2"]
SMALL += ["--train-images", "64", "--test-images", "40", "--quiet"]


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
