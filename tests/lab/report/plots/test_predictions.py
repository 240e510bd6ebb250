"""Scenes, their classes, and what methods take them for."""

import pytest
from PIL import Image

from prorandconv.lab.report.write import write_report
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.training import train


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for method in ("erm", "ours-c"):
        config = RunConfig.paper(
            *("shapes-mini", "plain", method),
            network="unet-resnet18",
            epochs=1,
            image_size=32,
            train_images=8,
            test_images=2,
        )
        train(config, Execution(runs=folder, quiet=True))
    return folder


def test_a_report_shows_predictions_for_each_target_and_augmented_scenes(runs, tmp_path):
    (section,) = write_report(runs, tmp_path / "report")
    names = {picture.name for picture in section.samples}
    assert {"runs-predictions-textured", "runs-predictions-inverted"} <= names
    assert "runs-samples-plain-ours-c" in names
    assert section.messages == ()
    assert all((tmp_path / "report" / f"{name}.png").exists() for name in names)


def test_without_samples_only_what_networks_found_is_shown(runs, tmp_path):
    write_report(runs, tmp_path / "whole")
    (section,) = write_report(runs, tmp_path / "report", samples=False)
    names = [picture.name for picture in section.samples]
    assert names == ["runs-predictions-textured", "runs-predictions-inverted"]
    for name in names:
        with (
            Image.open(tmp_path / "whole" / f"{name}.png") as both,
            Image.open(tmp_path / "report" / f"{name}.png") as found,
        ):
            rows = both.height // 4  # scene, truth and two methods
            assert found.width == both.width
            assert found.height < both.height - 1.5 * rows


def test_weights_that_are_gone_are_reported(runs, tmp_path):
    for path in runs.rglob("best.safetensors"):
        path.rename(path.with_suffix(".aside"))
    for path in runs.rglob("state*.pt"):
        path.unlink()
    (section,) = write_report(runs, tmp_path / "report")
    assert [message for message in section.messages if "No predictions for textured" in message]
