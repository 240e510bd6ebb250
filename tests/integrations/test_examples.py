"""The examples: each runs as it stands and prints what its page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PERCENT = re.compile(r"(\d+) %")


def told(example):
    """What the page says that an example prints."""
    page = (ROOT / "docs" / "integrations.md").read_text()
    found = re.search(rf"python examples/{example.name}\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert found, f"docs/integrations.md has no output of {example.name}"
    return found[1]


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_its_page_says(example, tmp_path):
    done = subprocess.run(
        [sys.executable, example],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = told(example)
    assert PERCENT.sub("%", done.stdout) == PERCENT.sub("%", expected)
    # Another processor rounds differently, and a small network learns something else from that.
    accuracies = [[int(n) for n in PERCENT.findall(text)] for text in (done.stdout, expected)]
    assert accuracies[0] == pytest.approx(accuracies[1], abs=15)


def test_page_imports_as_the_examples_do():
    page = (ROOT / "docs" / "integrations.md").read_text()
    blocks = "".join(re.findall(r"^```py(?:thon)?\n(.*?)```", page, re.DOTALL | re.MULTILINE))
    shown = set(re.findall(r"^from prorandconv\.integrations\.[^b].*", blocks, re.MULTILINE))
    used = {line for example in EXAMPLES for line in example.read_text().splitlines()}
    assert len(shown) == len(EXAMPLES)
    assert shown <= used


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(example):
    assert len(example.read_text().splitlines()) <= 60
