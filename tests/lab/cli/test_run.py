"""The commands on the network of a run: what they accept, print, write and return."""

import csv
import json

import pytest
from PIL import Image

from prorandconv.lab.cli.run import targets_grid
from prorandconv.lab.paper import paper_row
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.training import Result, train


@pytest.fixture
def folder(small_run, tmp_path):
    """The directory of a small run, whose network is the tests' own."""
    config = small_run("erm", epochs=2, train_images=64, test_images=40)
    train(config, Execution(runs=tmp_path, quiet=True, keep_checkpoint=True))
    return config.directory(tmp_path)


@pytest.fixture
def images(tmp_path):
    """Two images and a file that is none, in a folder of their own."""
    home = tmp_path / "images"
    home.mkdir()
    Image.new("L", (28, 28)).save(home / "black.png")
    Image.new("RGB", (50, 40), "white").save(home / "white.jpg")
    (home / "torn.png").write_bytes((home / "black.png").read_bytes()[:40])
    return home


class TestEvaluate:
    def test_figures_are_those_of_the_training(self, run, folder):
        code, out, _ = run("evaluate", folder, "--json", "--trust-code")
        expected = json.loads((folder / "result.json").read_text())["best_validation"]["targets"]
        assert (code, json.loads(out)) == (0, expected)

    def test_the_last_weights_in_a_table(self, run, folder):
        words = ("--which", "last", "--trust-code", "--accelerator", "cpu")
        code, out, _ = run("evaluate", folder, *words)
        assert code == 0
        assert "last epoch" in out
        assert "optdigits" in out


class TestPredict:
    def test_a_line_an_image(self, run, folder, images):
        files = (images / "black.png", images / "white.jpg")
        code, out, err = run("predict", folder, *files, "--trust-code")
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert [line.partition(": ")[0] for line in lines] == list(map(str, files))
        assert lines[0].endswith(" %)")

    def test_a_bad_file_is_reported_and_the_rest_of_the_folder_predicted(self, run, folder, images):
        code, out, err = run("predict", folder, images, "--trust-code")
        assert code == 1
        assert [line.rpartition("/")[2].split(":")[0] for line in out.splitlines()] == [
            "black.png",
            "white.jpg",
        ]
        assert err.startswith(f"prorandconv: {images / 'torn.png'}: ")

    def test_as_json_with_the_likeliest_classes(self, run, folder, images):
        words = ("--format", "json", "--top", "3", "--trust-code")
        code, out, _ = run("predict", folder, images, *words)
        black, torn, white = json.loads(out)
        assert code == 1
        assert len(black["classes"]) == len(white["classes"]) == 3
        assert set(black["classes"][0]) == {"class", "probability"}
        assert torn["classes"] == []
        assert torn["problem"]

    def test_as_csv_with_a_row_a_class(self, run, folder, images):
        words = ("--format", "csv", "--top", "2", "--trust-code")
        code, out, _ = run("predict", folder, images, *words)
        rows = list(csv.DictReader(out.splitlines()))
        assert code == 1
        assert [(row["image"].rpartition("/")[2], row["rank"]) for row in rows] == [
            ("black.png", "1"),
            ("black.png", "2"),
            ("torn.png", ""),
            ("white.jpg", "1"),
            ("white.jpg", "2"),
        ]
        assert rows[2]["problem"]

    def test_without_images_it_says_so(self, run, folder):
        code, _, err = run("predict", folder)
        assert code == 2
        assert (
            err == "prorandconv: images: got 'nothing', expected image files or folders of them\n"
        )


class TestExport:
    def test_the_file_is_beside_the_run_unless_told(self, run, folder, tmp_path):
        code, out, _ = run("export", folder, "--trust-code")
        assert (code, out.strip()) == (0, str(folder / "model.safetensors"))
        words = ("--format", "torchscript", "--output", tmp_path / "net.pt", "--trust-code")
        assert run("export", folder, *words)[0] == 0
        assert (folder / "model.safetensors").is_file()
        assert (tmp_path / "net.pt").is_file()

    def test_an_output_that_is_a_folder_is_a_sentence(self, run, folder, tmp_path):
        code, _, err = run("export", folder, "--output", tmp_path, "--trust-code")
        assert code == 2
        assert str(tmp_path) in err


@pytest.mark.parametrize("command", ["evaluate", "predict", "export"])
def test_code_that_a_run_names_is_imported_only_if_trusted(run, folder, images, command):
    code, _, err = run(command, folder, *([images] if command == "predict" else []))
    assert code == 2
    assert "--trust-code" in err


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_an_accelerator_that_there_is_not_is_a_sentence(run, folder, images, command):
    words = [images] if command == "predict" else []
    code, _, err = run(command, folder, *words, "--accelerator", "cdua", "--trust-code")
    assert code == 2
    assert err.startswith("prorandconv: accelerator: got 'cdua', expected ")


def test_a_directory_that_is_no_run_is_refused(run, tmp_path):
    code, _, err = run("evaluate", tmp_path)
    assert code == 2
    assert "a run's directory" in err


def test_the_papers_figures_stand_beside_ours_and_averages_are_over_the_same_targets():
    accuracies = {"svhn": 60.0, "mnist_m": 80.0, "usps": 70.0}
    result: Result = {
        "config": RunConfig.paper("digits").to_mapping(),
        "averaged": list(accuracies),
        "absent": ["syn"],
        "last": {"epoch": 3, "targets": {n: {"accuracy": a} for n, a in accuracies.items()}},
    }
    grid = targets_grid(result, paper_row(RunConfig.paper("digits")))
    assert grid.head == ("target", "last epoch\n(epoch 3)", "paper: Pro-RandConv\n(Table 1)")
    assert {line.label: line.cells for line in grid.lines} == {
        "svhn": ("60.00", "69.67"),
        "mnist_m": ("80.00", "82.30"),
        "usps": ("70.00", "93.67"),
        "syn": ("absent", "79.77"),
        "average of these": ("70.00", "81.88"),
    }
