"""The stress test on the command line: a run's own images, or a folder and any model."""

import json

import pytest
from PIL import Image

from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.training import train


@pytest.fixture
def directory(small_run, tmp_path):
    """A small run, whose network is the tests' own."""
    config = small_run("erm", epochs=1, train_images=64, test_images=20)
    train(config, Execution(runs=tmp_path / "runs", quiet=True))
    return config.directory(tmp_path / "runs")


@pytest.fixture
def folder(tmp_path):
    for number, name in enumerate(("a", "b", "c")):
        (tmp_path / "images" / name).mkdir(parents=True)
        for count in range(2):
            picture = Image.new("RGB", (16, 16), (80 * number, 40 * count, 100))
            picture.save(tmp_path / "images" / name / f"{count}.png")
    return tmp_path / "images"


QUICK = ("--draws", 1, "--images", 12)
OWN = ("own_lab:trained", "--image-size", 16, "--mean", 0.5, "--std", 0.5, "--draws", 1)


def test_a_run_on_its_validation_images(run, directory, tmp_path):
    output = tmp_path / "stress"
    code, out, _ = run("stress", directory, "val", "--trust-code", *QUICK, "--output", output)
    assert code == 0
    stored = json.loads((output / "stress.json").read_text())
    assert (stored["title"], stored["images"], stored["draws"]) == ("ERM", 12, 1)
    assert f"{stored['repeats']['0']:.1f}" in out
    assert max(map(len, out.splitlines()[:-1])) <= 80
    for name in ("curve.png", "failures.png"):
        with Image.open(output / name) as picture:
            assert picture.width > 300


def test_the_same_twice_and_compared_with_itself(run, directory, tmp_path):
    words = ("stress", directory, "fonts", "--trust-code", *QUICK)
    first = json.loads(run(*words, "--json", "--output", tmp_path / "a")[1])
    code, out, _ = run(*words, "--output", tmp_path / "b", "--against", tmp_path / "a")
    assert code == 0
    assert json.loads((tmp_path / "b" / "stress.json").read_text()) == first
    assert [line.split()[0] for line in out.splitlines() if line.endswith("+0.0")] == [
        "original",
        "repeats",
        "shifts",
    ]


def test_figures_of_other_images_are_not_compared(run, directory, tmp_path):
    words = ("stress", directory, "fonts", "--trust-code", "--draws", 1)
    assert run(*words, "--images", 5, "--output", tmp_path / "a")[0] == 0
    code, _, err = run(
        *words, "--images", 6, "--output", tmp_path / "b", "--against", tmp_path / "a"
    )
    assert code == 2
    assert err.startswith("prorandconv: --against: got 'fingerprint ")
    assert not (tmp_path / "b").exists()


def test_a_function_on_a_folder(run, folder, tmp_path, own_modules):
    classes = tmp_path / "classes.txt"
    classes.write_text("c\nb\na\n")
    words = ("stress", OWN[0], folder, *OWN[1:], "--output", tmp_path / "out", "--json")
    by_name = json.loads(run(*words)[1])
    other_order = json.loads(run(*words, "--classes", classes)[1])
    assert by_name["images"] == 6
    assert by_name["title"] == "own_lab:trained"
    assert (by_name["classes"], other_order["classes"]) == (["a", "b", "c"], ["c", "b", "a"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("own_lab:trained", "images"), "--image-size: got 'nothing'"),
        (("missing.pt", "images"), "MODEL: got 'missing.pt'"),
        ((OWN[0], "missing", *OWN[1:]), "DATA: got 'missing', expected a folder"),
        ((OWN[0], "images", *OWN[1:], "--against", "none.json"), "none.json: "),
        ((OWN[0], "images", *OWN[1:], "--against", "torn.json"), "--against: got 'torn.json'"),
        ((OWN[0], "images", *OWN[1:], "--classes", "torn.json"), "--classes: got '1 names'"),
        ((OWN[0], "images", *OWN[1:], "--classes", "twice.txt"), "--classes: got 'twice.txt'"),
    ],
)
def test_bad_input_is_a_sentence(run, folder, own_modules, monkeypatch, words, message):
    monkeypatch.chdir(folder.parent)
    (folder.parent / "torn.json").write_text('{"title"')
    (folder.parent / "twice.txt").write_text("a\na\nb\n")
    code, _, err = run("stress", *words)
    assert code == 2
    assert err.startswith(f"prorandconv: {message}")
    assert not (folder.parent / "stress").exists()


def test_an_unknown_domain_of_a_run_is_a_sentence(run, directory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("stress", directory, "font", "--trust-code")
    assert code == 2
    assert "DATA: got 'font', expected a folder <class>/<image>, val" in err
    assert "did you mean 'fonts'?" in err
