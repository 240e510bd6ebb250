"""The paper's tables and figures, declared as grids of runs, one file each."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from ....errors import ProRandConvError

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
        close = difflib.get_close_matches(name, STUDIES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ProRandConvError.about("study", name, f"one of {', '.join(STUDIES)}{hint}")
    study: Study = import_module(f".{STUDIES[name]}", __package__).STUDY
    return study
