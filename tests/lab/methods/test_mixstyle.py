import pytest
import torch
import torch.nn.functional as F
from torchvision.models import resnet18

from prorandconv import ProRandConvError
from prorandconv.lab.methods.mixstyle import MixStyle, mixed_style, usual_layers
from prorandconv.lab.models import LeNet, build_classifier, features, hooked

X, Y = torch.rand(6, 3, 32, 32, generator=torch.Generator().manual_seed(0)) * 2 - 1, torch.arange(6)


def test_each_channel_gets_the_blend_of_two_means_and_deviations():
    torch.manual_seed(0)
    x, share, order = torch.randn(4, 2, 5, 5) * 3 + 1, torch.rand(4), torch.randperm(4)
    found = mixed_style(x, share, order)
    for image in range(4):
        for channel in range(2):
            own, other = x[image, channel], x[order[image], channel]
            mean = share[image] * own.mean() + (1 - share[image]) * other.mean()
            std = share[image] * (own.var() + 1e-6).sqrt()
            std = std + (1 - share[image]) * (other.var() + 1e-6).sqrt()
            expected = (own - own.mean()) / (own.var() + 1e-6).sqrt() * std + mean
            assert torch.allclose(found[image, channel], expected, atol=1e-5)


def test_a_share_of_one_changes_nothing_and_statistics_carry_no_gradient():
    x = torch.randn(4, 2, 5, 5, requires_grad=True)
    found = mixed_style(x, torch.ones(4), torch.randperm(4))
    assert torch.allclose(found, x, atol=1e-5)
    found.sum().backward()
    assert torch.allclose(x.grad, torch.ones_like(x), atol=1e-4)


@pytest.mark.parametrize(
    ("network", "layers"),
    [(LeNet(10), ("2",)), (resnet18(num_classes=10), ("layer1", "layer2", "layer3"))],
    ids=["lenet", "resnet18"],
)
def test_the_usual_layers_are_a_resnets_stages_or_the_first_pooling(network, layers):
    assert usual_layers(network) == layers


@pytest.mark.parametrize("name", ["lenet", "resnet18"])
def test_features_are_mixed_while_the_loss_is_computed_and_never_else(loss_of, name):
    torch.manual_seed(0)
    network = build_classifier(name, classes=10, image_size=32).eval()
    plain = F.cross_entropy(network(X), Y)
    names = list(network.state_dict())
    assert not torch.allclose(loss_of(MixStyle(p=1.0), network, X, Y), plain)
    assert torch.equal(loss_of(MixStyle(p=0.0), network, X, Y), plain)
    assert torch.equal(F.cross_entropy(network(X), Y), plain)
    assert list(network.state_dict()) == names
    assert not any(module._forward_hooks for module in network.modules())


def test_each_layer_is_mixed_in_about_half_of_the_mini_batches(loss_of):
    network = LeNet(10).eval()
    plain = F.cross_entropy(network(X), Y)
    generator = torch.Generator().manual_seed(0)
    losses = [loss_of(MixStyle(), network, X, Y, generator) for _ in range(60)]
    same = sum(torch.equal(loss, plain) for loss in losses)
    assert 18 <= same <= 42


def test_hooks_are_removed_when_the_network_fails(loss_of):
    network = torch.nn.Sequential(torch.nn.MaxPool2d(2), torch.nn.Linear(7, 7))
    with pytest.raises(RuntimeError):
        loss_of(MixStyle(), network, X, Y)
    assert not network[0]._forward_hooks


def test_a_layer_that_is_not_there_is_named():
    with pytest.raises(ProRandConvError, match="layer9"), hooked(LeNet(10), ("layer9",), abs):
        pass


def test_a_network_without_pooling_needs_the_names_of_layers():
    with pytest.raises(ProRandConvError, match="names of layers"):
        usual_layers(torch.nn.Linear(2, 2))


@pytest.mark.parametrize("name", ["lenet", "resnet18"])
def test_features_are_what_the_last_layer_takes(name):
    network = build_classifier(name, classes=10, image_size=32).eval()
    entered, logits = features(network, X)
    *_, last = network.modules()
    assert torch.equal(last(entered), logits)
    assert torch.equal(logits, network(X))
    assert not any(module._forward_pre_hooks for module in network.modules())
