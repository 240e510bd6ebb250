"""The examples: each runs as it stands and prints what its page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def told(example):
    """What the page says that an example prints."""
    page = (ROOT / "docs" / "integrations.md").read_text()
    found = re.search(rf"python examples/{example.name}\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert found, f"docs/integrations.md has no output of {example.name}"
    return found[1]


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
    assert NUMBER.sub("#", done.stdout) == NUMBER.sub("#", expected)
    # Training rounds differently on another processor.
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (done.stdout, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.1)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(example):
    assert len(example.read_text().splitlines()) <= 60
