"""A table to be shown, and results as runs and studies leave them."""

import json
import os

import pytest

from prorandconv.lab.study.table import Cell, Table

PACS = {
    "benchmark": "pacs",
    "method": "erm",
    "options": {},
    "source": ["photo"],
    "network": "resnet18",
    "image_size": 128,
    "seed": 0,
    "epochs": 5,
}


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def make_results(write_run, make_table):
    """Fills a folder with one study of four runs, of which one is not done, and a failure."""

    def make(root):
        runs = root / "runs"
        homes = [
            write_run(runs, method, seed, done=3 if (method, seed) == ("erm", 1) else None)
            for method in ("erm", "pro-randconv")
            for seed in (0, 1)
        ]
        folder = root / "studies" / "digits"
        folder.mkdir(parents=True)
        rows = ("Baseline (ERM)", "Pro-RandConv")
        renamed = {
            (rows[row != "ERM"], column): cell for (row, column), cell in make_table().cells.items()
        }
        tables = [
            make_table(rows=rows, baseline=rows[0], cells=renamed),
            make_table(name="cost", title="Cost", unit="", averaged=(), notes=("<b>ours</b>",)),
        ]
        study = {
            "study": "digits",
            "title": "Five methods & more",
            "command": ["prorandconv", "study", "digits", "--data-root", "my data"],
            "settings": {"epochs": 4},
            "environment": {"versions": {"torch": "2.8.8"}, "processor": "where it was written"},
            "tables": [table.to_mapping() for table in tables],
            "runs": [os.path.relpath(home, folder) for home in homes],
            "failed": [{"run": "runs/x", "problem": "loss is not finite"}],
        }
        (folder / "study.json").write_text(json.dumps(study))
        return root

    return make


@pytest.fixture
def results(make_results, tmp_path):
    return make_results(tmp_path / "results")


@pytest.fixture
def measured(tmp_path):
    """Makes runs whose epochs have (validation, blur, zoom, average of the targets)."""

    def make(name, lines, **changes):
        home = tmp_path / name
        home.mkdir()
        (home / "config.json").write_text(json.dumps(PACS | changes))
        stored = []
        for epoch, (val, blur, zoom, average) in enumerate(lines, 1):
            line = {"epoch": epoch, "val_accuracy": val, "shifted": {"blur": blur, "zoom": zoom}}
            stored.append(line if average is None else line | {"average": average})
        (home / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in stored))
        return home

    return make
