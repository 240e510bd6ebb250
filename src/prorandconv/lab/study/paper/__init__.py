"""The paper's tables and figures, declared as grids of runs, one file each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ...errors import unknown_name

if TYPE_CHECKING:  # --help must not wait for data and networks
    from ..plan import Study

STUDIES = {
    "digits": "digits",
    "pacs-single": "pacs_single",
    "pacs-multi": "pacs_multi",
    "comparison": "comparison",
    "efficiency": "efficiency",
    "selection": "selection",
    "components": "components",
    "traditional": "traditional",
    "receptive-field": "receptive_field",
    "smoothing": "smoothing",
    "hyperparameters": "hyperparameters",
    "bounds": "bounds",
}
"""Modules beside this one, each with a ``STUDY``."""


def get_study(name: str) -> Study:
    """A study by its name.

    Example:
        >>> get_study("digits").reference
        'Tables 1 and 11'
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    study: Study = import_module(f".{STUDIES[name]}", __package__).STUDY
    return study
