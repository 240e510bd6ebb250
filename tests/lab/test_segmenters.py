"""Segmentation networks by name."""

import pytest
import torch
import torchvision
from safetensors.torch import save_file

from prorandconv.errors import ProRandConvError
from prorandconv.lab.models import build_segmenter


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def fail(*arguments, **rest):
        raise AssertionError("something was to be downloaded")

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fail)
    monkeypatch.setattr(torch.hub, "download_url_to_file", fail)


@pytest.fixture
def resnet18(tmp_path):
    network = torchvision.models.resnet18()
    path = tmp_path / "resnet18.safetensors"
    save_file(network.state_dict(), path)
    return network, path


def test_scenes_of_any_size_have_logits_of_that_size():
    network = build_segmenter("deeplabv3plus-resnet18", classes=5, image_size=64).eval()
    with torch.no_grad():
        assert network(torch.zeros(1, 3, 45, 70)).shape == (1, 5, 45, 70)


def test_the_output_stride_is_16():
    network = build_segmenter("deeplabv3plus-resnet18", classes=2, image_size=64)
    assert network.stride == 16


def test_weights_of_a_classifier_go_into_the_encoder(resnet18):
    theirs, path = resnet18
    network = build_segmenter("deeplabv3plus-resnet18", classes=5, image_size=64, weights=path)
    own = network.model.encoder.state_dict()
    assert own.keys() == {name for name in theirs.state_dict() if not name.startswith("fc.")}
    assert all(torch.equal(own[name], theirs.state_dict()[name]) for name in own)


def test_weights_of_another_encoder_raise_an_error_with_what_does_not_fit(resnet18):
    with pytest.raises(ProRandConvError, match=r"encoder of deeplabv3plus-resnet34.*is missing"):
        build_segmenter("deeplabv3plus-resnet34", classes=5, image_size=64, weights=resnet18[1])


def test_weights_of_a_whole_network_are_loaded(tmp_path):
    first = build_segmenter("unet-resnet18", classes=3, image_size=64)
    save_file(first.state_dict(), tmp_path / "all.safetensors")
    again = build_segmenter(
        "unet-resnet18", classes=3, image_size=64, weights=tmp_path / "all.safetensors"
    )
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("deeplabv3pluss-resnet18", "did you mean 'deeplabv3plus'"),
        ("deeplabv3plus-resnet19", "did you mean 'resnet1"),
        ("resnet18", "architectures: "),
    ],
)
def test_an_unknown_network_raises_an_error_with_the_nearest_one(name, hint):
    with pytest.raises(ProRandConvError, match=hint):
        build_segmenter(name, classes=5, image_size=64)


def test_weights_that_torchvision_does_not_have_raise_an_error():
    with pytest.raises(ProRandConvError, match="weights=PATH"):
        build_segmenter("deeplabv3plus-tu-resnet10t", classes=2, image_size=64, pretrained=True)
