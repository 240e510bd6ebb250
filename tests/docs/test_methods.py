"""The page of methods: a row for each, with the tasks that it has in the code."""

import re
from pathlib import Path

import pytest

from prorandconv.lab.methods import METHODS, method_class

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"
TASKS = {
    "both": ("classification", "segmentation"),
    "images": ("classification",),
    "scenes": ("segmentation",),
}


def rows():
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].startswith("`"):
            yield from ((name, cells[3]) for name in re.findall(r"`([^`]+)`", cells[0]))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_one_row_with_its_tasks(name):
    assert [TASKS[tasks] for row, tasks in rows() if row == name] == [method_class(name)().tasks]
