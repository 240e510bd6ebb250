"""Tasks: what a network is to find, and how well it has found it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import named
from ..errors import unknown_name

if TYPE_CHECKING:  # a misspelt name must not wait for torch
    from .contract import RunTask

TASKS = {
    "classification": "classification:Classification",
    "segmentation": "segmentation:Segmentation",
}
"""Where each task is: a module beside this one, and the class in it."""


def get_task(name: str) -> RunTask:
    """A task by its name.

    Example:
        >>> get_task("segmentation").evaluation.metric
        'miou'
    """
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    made: RunTask = named(TASKS[name], __name__)()
    return made
