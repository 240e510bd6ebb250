"""The command line as a whole: help, version, errors, and how little it loads."""

import subprocess
import sys

import pytest

import prorandconv
from prorandconv.lab.cli.main import COMMANDS
from prorandconv.lab.paper import changed_options
from prorandconv.lab.run.config import RunConfig


def test_errors_are_one_line_without_a_stack_trace(run, tmp_path):
    code, out, err = run("data", "check", "pasc", "--data-root", tmp_path)
    assert code == 2
    assert out == ""
    assert err.startswith("prorandconv: benchmark: got 'pasc', expected one of digits,")
    assert err.endswith("did you mean 'pacs'?\n")


def test_help_explains_every_option(run):
    code, out, _ = run("data", "show", "--help")
    assert code == 0
    for text in ("--data-root", "PRORANDCONV_DATA", "--output", "--per-class"):
        assert text in out


def test_help_breaks_long_lines_between_words(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run("augment", "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "docs/augment.md" in out  # whole, though at the end of a line


def test_help_lists_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in out


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == run("version") == (0, f"{prorandconv.__version__}\n", "")


def test_a_misspelt_command_is_refused_with_the_nearest_one(run):
    code, _, err = run("trian")
    assert code == 2
    assert err.endswith("did you mean 'train'?\n")


def modules_after(words):
    """The modules that a command has loaded at its end."""
    script = """
import sys
from prorandconv.lab.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules)
"""
    process = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False
    )
    return set(process.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "study",
        "trian",
        "study digts",
        "train --method randcov",
        "train --benchmark digts",
        "data check digts",
        "predict RUN",
        "augment --help",
        "augment photos out --copies 0",
    ],
)
def test_what_needs_no_network_does_not_load_torch(words):
    loaded = modules_after(words.split())
    assert "prorandconv.lab.cli.main" in loaded
    assert not {"torch", "numpy", "scipy", "prorandconv.transforms"} & loaded


def test_stored_runs_are_listed_pruned_and_reported_without_torch(write_run, tmp_path):
    """The second command: the first one notes what is default of the methods that it meets."""
    for method in ("erm", "pro-randconv"):
        write_run(tmp_path / "runs", method)
    changed_options(RunConfig.paper("digits-mini", method="pro-randconv", epochs=4))
    report = ["report", "--no-samples", "--output", str(tmp_path / "report")]
    for words in (["runs"], ["prune", "--dry-run"], report):
        assert "torch" not in modules_after([words[0], str(tmp_path / "runs"), *words[1:]])
    assert "Pro-RandConv" in (tmp_path / "report" / "report.md").read_text()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileExistsError(17, "File exists", "out"), "out: is a file, where a folder is needed"),
        (PermissionError(13, "Permission denied", "runs"), "runs: permission denied"),
        (PermissionError(13, "Permission denied", "out/.writing-x.png"), "out: permission denied"),
        (IsADirectoryError(21, "Is a directory", ".writing-x", None, "out"), "out: is a folder"),
        (OSError(30, "Read-only file system", "runs"), "runs: Read-only file system"),
    ],
)
def test_a_path_that_cannot_be_used_is_a_sentence(run, monkeypatch, error, message):
    def fail(*arguments, **named):
        raise error

    monkeypatch.setattr("prorandconv.lab.quickstart.quickstart", fail)
    code, _, err = run("quickstart")
    assert code == 2
    assert err.startswith(f"prorandconv: {message}")


def test_an_output_that_is_a_file_is_a_sentence(run, mini, tmp_path):
    (tmp_path / "file").write_text("")
    words = ("--epochs", 1, "--output", tmp_path / "file")
    code, _, err = run("quickstart", *words)
    assert code == 2
    assert f"{tmp_path / 'file'}" in err
