"""Runs to be compared: which can be, and how they are grouped and paired."""

import json
from functools import partial

import pytest

from prorandconv import ProRandConvError
from prorandconv.lab.report.paired import compare_runs
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.run.training import train

SMALL = {"epochs": 1, "train_images": 64, "test_images": 60}


@pytest.fixture
def make(small_run, tmp_path):
    def train_one(method="erm", **changes):
        config = small_run(method, **(SMALL | changes))
        train(config, Execution(runs=tmp_path, quiet=True))
        return config.directory(tmp_path)

    return train_one


def stored(run, target="fonts"):
    result = json.loads((run / "result.json").read_text())
    return result["best_validation"]["targets"][target]["accuracy"]


def compared(*runs, **options):
    return compare_runs(runs, partial(load_trained, accelerator="cpu", trust_code=True, **options))


def test_accuracies_are_those_of_the_results(make):
    one, two = make("erm"), make("pro-randconv")
    (found,) = compared(one, two)
    assert (found.first, found.second, found.seeds) == ("erm", "pro-randconv", ((0, 0),))
    by_name = {row.name: row for row in found.targets}
    assert list(by_name) == ["optdigits", "mnist_m_like", "fonts", "numbers", "average"]
    fonts = by_name["fonts"]
    assert (fonts.images, fonts.first, fonts.second) == (
        60,
        pytest.approx(stored(one)),
        pytest.approx(stored(two)),
    )
    assert fonts.by_image[0] <= fonts.difference <= fonts.by_image[1]
    assert sum(row.images for row in found.classes) == 4 * 60


def test_runs_that_differ_in_the_seed_only_are_taken_together(make):
    runs = [make(method, seed=seed) for method in ("erm", "pro-randconv") for seed in (0, 1, 2)]
    (found,) = compared(*runs)
    assert found.seeds == ((0, 0), (1, 1), (2, 2))
    fonts = next(row for row in found.targets if row.name == "fonts")
    own = [stored(two) - stored(one) for one, two in zip(runs[:3], runs[3:], strict=True)]
    assert fonts.by_seed == pytest.approx(own)
    assert fonts.seed_interval is not None


def test_seeds_without_a_partner_are_left_out_and_told(make):
    (found,) = compared(make(seed=0), make(seed=1), make("pro-randconv", seed=1))
    assert found.seeds == ((1, 1),)
    assert found.notes == ("left out, without a partner: seed 0",)


def test_two_seeds_of_one_method_are_compared_by_image(make):
    (found,) = compared(make(seed=0), make(seed=1))
    assert (found.first, found.second) == ("erm, seed 0", "erm, seed 1")
    assert found.seeds == ((0, 1),)


def test_groups_are_named_by_what_they_differ_in(make):
    found = compared(make(), make(learning_rate=0.01), make("erm", epochs=2))
    assert [(one.first, one.second) for one in found] == [
        ("erm, epochs 1, learning_rate 0.05", "erm, epochs 1, learning_rate 0.01"),
        ("erm, epochs 1, learning_rate 0.05", "erm, epochs 2, learning_rate 0.05"),
    ]


def test_one_run_twice_is_refused(make):
    run = make()
    with pytest.raises(ProRandConvError, match="two different runs"):
        compared(run, run)


def test_runs_on_other_images_are_refused(make):
    with pytest.raises(ProRandConvError, match=r"test_images: got 40, expected that of .*: 60"):
        compared(make(), make("pro-randconv", test_images=40))


def test_runs_that_differ_only_in_how_often_targets_are_measured_are_compared(make):
    one, two = make("erm"), make("erm", target_every=1)
    (found,) = compared(one, two)
    assert found.second == f"erm, run {two.name}"
    assert {row.difference for row in found.targets} == {0.0}


def test_segmentation_is_compared_by_overlap(small_segmentation, tmp_path):
    configs = [small_segmentation(name, epochs=1, test_images=4) for name in ("erm", "ours-move")]
    results = [train(one, Execution(runs=tmp_path, quiet=True)) for one in configs]
    (found,) = compared(*(one.directory(tmp_path) for one in configs))
    assert found.score == "mIoU"
    by_name = {row.name: row for row in found.targets}
    for name, stored in results[0]["best_validation"]["targets"].items():
        other = results[1]["best_validation"]["targets"][name]["miou"]
        row = by_name[name]
        assert (row.images, row.first, row.second) == (
            4,
            pytest.approx(stored["miou"]),
            pytest.approx(other),
        )
        assert row.by_image[0] <= row.difference + 1e-9
        assert row.by_image[1] >= row.difference - 1e-9
    assert len(found.classes) > 1
