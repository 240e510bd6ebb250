"""A table to be shown."""

import pytest

from prorandconv.lab.studies.table import Cell, Table


@pytest.fixture
def make_table():
    def make(**changes):
        cells = {
            ("ERM", "svhn"): Cell((30.0, 32.0, 34.0), 32.5),
            ("ERM", "usps"): Cell((70.0, 72.0, 74.0), 78.2),
            ("Pro-RandConv", "svhn"): Cell((60.0, 62.0, 64.0), 69.7),
            ("Pro-RandConv", "usps"): Cell((80.0, None, 82.0), 93.7),
        }
        given = {
            "name": "digits",
            "title": "Digits",
            "reference": "Table 1",
            "rows": ("ERM", "Pro-RandConv"),
            "columns": ("svhn", "usps"),
            "seeds": (0, 1, 2),
            "cells": cells,
            "baseline": "ERM",
            "averaged": ("svhn", "usps"),
            "notes": ("absent: syn",),
        }
        return Table(**(given | changes))

    return make
