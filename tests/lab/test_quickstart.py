"""The method in a few minutes: what quickstart prints and writes."""

import json

import pytest
from PIL import Image
from rich.console import Console

from prorandconv.lab.quickstart import quickstart, sheet


def test_quickstart_writes_table_plot_and_sheet(mini, tmp_path):
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    small = {"network": "own_lab:tiny", "train_images": 64, "test_images": 40}
    assert quickstart(console, tmp_path / "quickstart", epochs=1, seeds=(0, 1), **small) == 0
    text = console.export_text()
    assert "Pro-RandConv" in text
    assert "average" in text
    record = json.loads((tmp_path / "quickstart" / "results.json").read_text())
    assert len(record["accuracy"]["average"]["pro-randconv"]) == 2
    assert "| Pro-RandConv |" in (tmp_path / "quickstart" / "results.md").read_text()
    *domains, average = record["accuracy"].values()
    for seed in (0, 1):
        mean = sum(domain["erm"][seed] for domain in domains) / 4
        assert average["erm"][seed] == pytest.approx(mean)
    for name in ("accuracy.png", "augmented.png"):
        with Image.open(tmp_path / "quickstart" / name) as picture:
            assert min(picture.size) > 100
    assert "<svg" in (tmp_path / "quickstart" / "accuracy.svg").read_text()


def test_the_sheet_shows_originals_above_their_augmented_versions(mini):
    picture = sheet(draws=2)
    assert picture.size == (90 + 10 * 68, 3 * 68 + 4)
    assert len(picture.crop((90, 4, 154, 68)).convert("RGB").getcolors(10_000)) > 2
