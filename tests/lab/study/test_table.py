import json

import pytest

from prorandconv import ProRandConvError
from prorandconv.lab.study.table import AVERAGE, Axis, Cell, Estimate, Table


def table(**changes):
    cells = {
        ("ERM", "svhn"): Cell((30.0, 32.0, 34.0), 32.5),
        ("ERM", "usps"): Cell((70.0, 72.0, 74.0), 78.2),
        ("ours", "svhn"): Cell((60.0, 63.0, 64.0), 69.7),
        ("ours", "usps"): Cell((80.0, None, 82.0), 93.7),
    }
    given = {
        "name": "digits",
        "title": "Digits",
        "reference": "Table 1",
        "rows": ("ERM", "ours"),
        "columns": ("svhn", "usps"),
        "seeds": (0, 1, 2),
        "cells": cells,
        "baseline": "ERM",
        "averaged": ("svhn", "usps"),
    }
    return Table(**(given | changes))


def test_interval_is_students():
    estimate = Estimate.of([80.0, 82.0, 84.0])
    half = 4.302653 * 2.0 / 3**0.5
    assert estimate.interval == pytest.approx((82 - half, 82 + half), abs=1e-5)
    assert estimate.seeds == 3


def test_one_seed_has_a_mean_and_no_spread():
    assert Estimate.of([80.0, None]) == Estimate(80.0, values=(80.0,))
    assert Estimate.of([None]) is None


def test_average_needs_all_of_its_columns_seed_by_seed():
    assert table().values("ours", AVERAGE) == (70.0, None, 73.0)
    assert table().values("ERM", AVERAGE) == (50.0, 52.0, 54.0)


def test_papers_average_is_over_the_same_columns():
    assert table().paper("ours", AVERAGE) == pytest.approx((69.7 + 93.7) / 2)
    assert table(averaged=("svhn",)).paper("ours", AVERAGE) == 69.7
    assert table().to_paper("ERM", "svhn") == pytest.approx(32.0 - 32.5)


def test_gain_is_paired_by_seed():
    gain = table().gain("ours", "svhn")
    assert gain.mean == pytest.approx((30 + 31 + 30) / 3)
    assert gain.deviation == pytest.approx(0.57735, abs=1e-5)
    assert table().gain("ours", "usps").seeds == 2
    assert table().gain("ERM", "svhn") is None


def test_stored_and_read_again_is_the_same():
    one = table(axis=Axis("kernel size", (3.0, 5.0)), notes=("syn is absent",))
    assert Table.from_mapping(json.loads(json.dumps(one.to_mapping()))) == one


def test_missing_values_show():
    assert not table().complete
    assert table(cells={("ERM", "svhn"): Cell((1.0, 2.0, 3.0))}).complete


def test_a_cell_outside_the_table_is_refused():
    with pytest.raises(ProRandConvError, match="cells"):
        table(cells={("ERM", "syn"): Cell((1.0, 2.0, 3.0))})
    with pytest.raises(ProRandConvError, match="2 values"):
        table(cells={("ERM", "svhn"): Cell((1.0, 2.0))})
