"""Scenes, their classes, and what methods take them for."""

import shutil

import pytest
from PIL import Image

from prorandconv.lab.report.page import write_report
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.training import train


def config(method, seed):
    return RunConfig.paper(
        *("shapes-mini", "plain", method),
        network="unet-resnet18",
        epochs=1,
        image_size=32,
        train_images=8,
        test_images=2,
        seed=seed,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for method in ("erm", "ours-c"):
        for seed in (0, 1):
            train(config(method, seed), Execution(runs=folder, quiet=True))
    return folder


@pytest.fixture
def report_without(runs, tmp_path):
    """A report of runs of which some have lost their weights."""

    def report(*lost):
        kept = shutil.copytree(runs, tmp_path / "runs")
        for method, seed in lost:
            directory = config(method, seed).directory(kept)
            (directory / "best.safetensors").unlink()
            for path in directory.glob("state*.pt"):
                path.unlink()
        (section,) = write_report(kept, tmp_path / "report", samples=False)
        return [picture.title for picture in section.samples], section.messages

    return report


def test_a_report_shows_predictions_for_each_target_and_augmented_scenes(runs, tmp_path):
    (section,) = write_report(runs, tmp_path / "report")
    names = {picture.name for picture in section.samples}
    assert {"runs-predictions-textured", "runs-predictions-inverted"} <= names
    assert "runs-samples-plain-ours-c" in names
    assert section.messages == ()
    assert all((tmp_path / "report" / f"{name}.png").exists() for name in names)


def test_scores_of_classes_are_called_iou_and_those_of_targets_miou(runs, tmp_path):
    write_report(runs, tmp_path, samples=False)
    assert "1 epoch, IoU in %" in (tmp_path / "report.md").read_text()
    assert "<caption>textured: mIoU " in (tmp_path / "index.html").read_text()


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


def test_predictions_are_of_one_seed_whose_weights_all_methods_have(report_without):
    titles, messages = report_without(("erm", 0))
    assert [title.rpartition(", ")[2] for title in titles] == ["seed 1", "seed 1"]
    assert messages == ()


def test_without_such_a_seed_each_method_shows_its_first_one(report_without):
    titles, messages = report_without(("erm", 0), ("ours-c", 1))
    assert [title.rpartition(", ")[2] for title in titles] == [
        "of the first seed whose weights are there"
    ] * 2
    assert messages == ()


def test_a_method_without_weights_is_named_and_the_others_are_shown(report_without):
    titles, messages = report_without(("ours-c", 0), ("ours-c", 1))
    assert [title.rpartition(", ")[2] for title in titles] == ["seed 0", "seed 0"]
    assert messages == ("No predictions of Ours-C: no run of it has kept its weights",)


def test_weights_that_are_damaged_are_reported(runs, tmp_path):
    damaged = shutil.copytree(runs, tmp_path / "runs")
    (config("erm", 0).directory(damaged) / "best.safetensors").write_bytes(b"no weights")
    (section,) = write_report(damaged, tmp_path / "report", samples=False)
    assert section.samples == ()
    assert [message for message in section.messages if "No predictions for textured" in message]
