"""The command line as a whole: help, version, errors, and how little it loads."""

import subprocess
import sys


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


def test_help_waits_for_no_data_library():
    script = "import sys, prorandconv.lab.cli.main; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    slow = {"prorandconv.lab.data", "sklearn", "skimage", "matplotlib", "scipy"}
    assert not slow & set(process.stdout.split())
