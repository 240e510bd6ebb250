"""All studies: the paper's tables and figures, and one beyond them."""

from __future__ import annotations

from ..errors import unknown_name
from . import comparisons, parts
from .declared import STUDIES, Study

__all__ = ["STUDIES", "comparisons", "get_study", "parts"]


def get_study(name: str) -> Study:
    """A study by its name.

    Example:
        >>> from prorandconv.lab.study.settings import Settings
        >>> [table.name for table in get_study("digits").plan(Settings(everything=True)).tables]
        ['digits', 'mnist-m']
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    return STUDIES[name]
