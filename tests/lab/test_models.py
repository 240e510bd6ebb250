import pytest
import safetensors.torch
import torch

from prorandconv import ProRandConvError
from prorandconv.lab.models import (
    LeNet,
    build_classifier,
    classifier,
    load_weights,
    macs,
    read_weights,
)


def make(name, classes=7, **options):
    return build_classifier(name, classes=classes, image_size=64, **options)


def test_lenet_has_the_papers_multiply_accumulates():
    assert round(macs(LeNet(10), 32) / 1e6, 2) == 28.77


def test_lenet_is_five_layers_of_the_stated_widths():
    shapes = [tuple(p.shape) for n, p in LeNet(10).named_parameters() if n.endswith("weight")]
    assert shapes == [(64, 3, 5, 5), (128, 64, 5, 5), (1024, 3200), (1024, 1024), (10, 1024)]


@pytest.mark.parametrize(
    "name", ["alexnet", "resnet18", "resnet50", "squeezenet1_1", "mobilenet_v3_small", "googlenet"]
)
def test_classifiers_of_torchvision_give_one_score_for_each_class(name):
    network = make(name).train()
    assert network(torch.randn(2, 3, 64, 64)).shape == (2, 7)


def test_counting_leaves_the_network_as_it_was():
    network = make("resnet18").train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    macs(network, 64)
    assert network.training
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


@pytest.mark.parametrize("suffix", ["safetensors", "pth"])
def test_weights_of_another_number_of_classes_fill_all_but_the_classifier(tmp_path, suffix):
    other = make("resnet18", classes=1000)
    path = tmp_path / f"weights.{suffix}"
    if suffix == "pth":
        torch.save({"state_dict": other.state_dict()}, path)
    else:
        safetensors.torch.save_file(other.state_dict(), path)
    network = make("resnet18", weights=path)
    own, stored = network.state_dict(), other.state_dict()
    assert own["fc.weight"].shape == (7, 512)
    body = [name for name in own if not name.startswith("fc.")]
    assert all(torch.equal(own[name], stored[name]) for name in body)


def test_weights_of_the_same_classes_fill_the_classifier_too(tmp_path):
    other = make("resnet18")
    torch.save(other.state_dict(), tmp_path / "w.pth")
    network = make("resnet18", weights=tmp_path / "w.pth")
    assert torch.equal(network.fc.weight, other.fc.weight)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("layer1.0.conv1.weight"), "layer1.0.conv1.weight is missing"),
        (lambda w: w.update(extra=torch.zeros(1)), "extra is unknown"),
        (lambda w: w.update({"conv1.weight": torch.zeros(64, 1, 7, 7)}), "conv1.weight has shape"),
    ],
)
def test_weights_that_differ_elsewhere_raise_an_error(change, message):
    network = make("resnet18")
    weights = dict(network.state_dict())
    change(weights)
    with pytest.raises(ProRandConvError, match=message):
        load_weights(network, weights, origin="here")


def test_weights_of_a_trained_network_fit_in_the_classifier_too():
    network, other = make("resnet18"), make("resnet18", classes=5)
    with pytest.raises(ProRandConvError, match=r"fc\.weight has shape \(5, 512\), not \(7, 512\)"):
        load_weights(network, other.state_dict(), origin="here", other_classes=False)


def test_a_damaged_file_of_weights_is_named(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"nonsense")
    with pytest.raises(ProRandConvError, match=r"w\.safetensors"):
        read_weights(path)


def test_a_misspelt_network_raises_an_error_with_the_nearest_name():
    with pytest.raises(ProRandConvError, match="did you mean 'resnet18'"):
        make("resnet81")


@pytest.mark.parametrize(
    ("name", "last"), [("lenet", "11"), ("alexnet", "classifier.6"), ("resnet18", "fc")]
)
def test_the_classifier_is_the_last_layer(name, last):
    assert classifier(make(name)) == last


@pytest.mark.real_data
def test_the_published_resnet18_loads_strictly(real_root):
    path = real_root / "weights" / "resnet18-imagenet1k-v1.safetensors"
    network = make("resnet18", weights=path)
    assert network.conv1.weight.std() > 0.1
