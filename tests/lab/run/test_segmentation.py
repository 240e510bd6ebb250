"""Runs that segment scenes."""

import json

import pytest
import torch

from prorandconv.errors import ProRandConvError
from prorandconv.lab.errors import RunError
from prorandconv.lab.methods import METHODS, method_class
from prorandconv.lab.methods.contract import Classifying
from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.run.directory import METRICS, RESULT
from prorandconv.lab.run.export import export, metadata
from prorandconv.lab.run.trained import load_trained

MOVING = {"perspective", "rotate", "autoaugment", "randaugment", "augmix", "mixstyle"}
CLASSIFYING = {name for name in METHODS if issubclass(method_class(name), Classifying)}
"""Their refusal is tested in test_rivals.py."""
NORMALISING = {"ibn", "isw", "iternorm", "sw"}
"""They change the normalisation of a ResNet."""


@pytest.fixture
def segmented(small_segmentation, trained):
    def run(method="erm", **changes):
        folder = trained(small_segmentation(method, **changes))
        return json.loads((folder / RESULT).read_text()), folder

    return run


def test_the_task_is_that_of_the_benchmark():
    assert RunConfig.paper("shapes-mini", method="erm").task == "segmentation"
    assert RunConfig.paper("shapes-mini", method="erm", task="classification").task == (
        "segmentation"
    )
    assert RunConfig.paper("digits").task == "classification"


def test_a_result_has_miou_of_each_class_and_of_each_target(segmented):
    result, folder = segmented()
    best = result["best_validation"]
    assert result["config"]["task"] == "segmentation"
    assert set(best["targets"]) == {"textured", "inverted"}
    for target in best["targets"].values():
        per_class = [one for one in target["per_class"] if one is not None]
        assert target["miou"] == pytest.approx(sum(per_class) / len(per_class))
        assert target["pixels"] == 6 * 64 * 64
    assert best["average"] == pytest.approx(
        sum(one["miou"] for one in best["targets"].values()) / 2
    )
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    assert best["val_miou"] == max(line["val_miou"] for line in lines)


def test_a_loaded_network_measures_the_same(segmented):
    result, folder = segmented()
    found = load_trained(folder, trust_code=True).evaluate()
    stored = result["best_validation"]["targets"]
    assert {name: one.to_mapping() for name, one in found.items()} == stored


@pytest.mark.parametrize("method", sorted(set(METHODS) - MOVING - CLASSIFYING))
def test_methods_that_leave_pixels_where_they_are_train(method, segmented):
    network = {"network": "unet-resnet18"} if method in NORMALISING else {}
    result, _ = segmented(method, epochs=1, train_images=16, **network)
    assert 0 <= result["last"]["average"] <= 100


@pytest.mark.parametrize("method", sorted(MOVING))
def test_methods_that_move_pixels_and_not_labels_raise_an_error(method, small_segmentation):
    with pytest.raises(ProRandConvError, match="a method for segmentation"):
        small_segmentation(method)


@pytest.mark.parametrize(("name", "value"), [("jitter", 0.5), ("shifted_validation", True)])
def test_what_only_classification_has_raises_an_error(name, value, small_segmentation):
    with pytest.raises(ProRandConvError, match=name):
        small_segmentation(**{name: value})


def test_fewer_scenes_than_a_mini_batch_raise_an_error(segmented):
    with pytest.raises(RunError, match="at least 8 are needed"):
        segmented(train_images=7)


def test_an_exported_graph_segments(segmented, tmp_path):
    _, folder = segmented()
    own = load_trained(folder, trust_code=True, accelerator="cpu")
    export(own, tmp_path / "model.pt", "torchscript")
    loaded = torch.jit.load(tmp_path / "model.pt")
    x = torch.rand(2, 3, 32, 32)
    assert torch.allclose(loaded(x), own.network(x), atol=1e-5)
    assert metadata(own, with_normalisation=False)["output"].startswith("float32 (N, 4, 32, 32)")
