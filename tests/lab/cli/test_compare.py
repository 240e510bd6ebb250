"""The command that compares runs: what it prints."""

import json

import pytest
from rich.console import Console

from prorandconv.lab.cli.runs import differences_grid
from prorandconv.lab.report.formats import terminal
from prorandconv.lab.report.paired import Difference
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.training import train

ROWS = [
    Difference("mnist_m_rebuilt", 10_000, 12.3, 100.0, (-10.5, 12.25), (87.7, 80.0), None),
    Difference("average", 90_000, 50.0, 60.0, (9.0, 11.0), (9.0, 10.0, 11.0), (7.5, 12.5)),
]


def test_nothing_is_cut_at_80_columns():
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(terminal(differences_grid("target", ROWS)))
    text = console.export_text()
    assert "…" not in text
    words = " ".join(text.splitlines()[1].split())
    assert words == "mnist_m_rebuilt 10000 12.3 100.0 +87.7 [-10.5, +12.2] +87.7, +80.0"
    assert "[+7.5, +12.5]" in text


@pytest.fixture
def two(small_run, tmp_path):
    configs = [
        small_run(method, epochs=1, train_images=64, test_images=40)
        for method in ("erm", "pro-randconv")
    ]
    for config in configs:
        train(config, Execution(runs=tmp_path, quiet=True))
    return [config.directory(tmp_path) for config in configs]


def test_runs_are_compared_by_target_and_class(run, two):
    code, out, _ = run("compare", *two, "--trust-code")
    assert code == 0
    assert out.startswith("A: erm\nB: pro-randconv\n")
    for name in ("fonts", "average", "by image", "by seed"):
        assert name in out
    code, out, _ = run("compare", *two, "--trust-code", "--json")
    (found,) = json.loads(out)
    assert [row["name"] for row in found["classes"]] == list("0123456789")
    assert len(found["targets"][0]["by_image"]) == 2


def test_one_run_alone_is_refused(run, two):
    code, _, err = run("compare", two[0], "--trust-code")
    assert code == 2
    assert "two different runs or more" in err


def test_code_that_runs_name_is_imported_only_if_trusted(run, two):
    code, _, err = run("compare", *two)
    assert code == 2
    assert "--trust-code" in err
