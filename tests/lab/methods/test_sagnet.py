"""SagNet against its formulas, written with loops."""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from prorandconv.lab.methods import sagnet

EPS = 1e-5


def _moments(channel):
    values = [value for row in channel for value in row]
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def reference_style(x, share, order):
    """The image's content; mean and variance are α its own and 1 - α another image's."""
    images = []
    for image in range(len(x)):
        channels = []
        for own, other in zip(x[image], x[order[image]], strict=True):
            (mean, variance), (mean2, variance2) = _moments(own), _moments(other)
            a = share[image]
            new_mean = a * mean + (1 - a) * mean2
            new_variance = a * variance + (1 - a) * variance2
            plain = (own - mean) / torch.sqrt(variance + EPS)
            channels.append(plain * torch.sqrt(new_variance + EPS) + new_mean)
        images.append(torch.stack(channels))
    return torch.stack(images)


def reference_content(x, order):
    """Another image's content, through which no gradient flows; the image's mean and variance."""
    images = []
    for image in range(len(x)):
        channels = []
        for own, other in zip(x[image], x[order[image]].detach(), strict=True):
            (mean, variance), (mean2, variance2) = _moments(own), _moments(other)
            plain = (other - mean2) / torch.sqrt(variance2 + EPS)
            channels.append(plain * torch.sqrt(variance + EPS) + mean)
        images.append(torch.stack(channels))
    return torch.stack(images)


def reference_adversary(logits):
    """Cross-entropy of the predictions with the uniform distribution."""
    images = []
    for row in logits:
        total = sum(torch.exp(one) for one in row)
        images.append(-sum(torch.log(torch.exp(one) / total) for one in row) / len(row))
    return sum(images) / len(images)


def test_styles_are_blended_by_the_formula(agree):
    order = torch.tensor([2, 0, 1])
    agree(
        lambda x, share: sagnet.style_randomised(x, share, order),
        lambda x, share: reference_style(x, share, order),
        torch.randn(3, 2, 4, 5),
        torch.tensor([0.3, 0.9, 0.0]),
    )


def test_contents_are_exchanged_by_the_formula(agree):
    order = torch.tensor([2, 0, 1])
    agree(
        lambda x: sagnet.content_randomised(x, order),
        lambda x: reference_content(x, order),
        torch.randn(3, 2, 4, 5),
    )


def test_the_adversary_wants_uniform_predictions(agree):
    agree(sagnet.uniform_cross_entropy, reference_adversary, torch.randn(4, 5))


def test_the_three_losses_are_their_formulas(info, batch):
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(36, 5))
    learner = sagnet.SagNet(dropout=0.0, weight=0.1).learner(network, info)
    nn.init.normal_(learner.style[3].weight)
    (losses,) = learner.step(batch, torch.Generator().manual_seed(3))
    same = torch.Generator().manual_seed(3)
    share, order, other = (
        torch.rand(6, generator=same),
        *(torch.randperm(6, generator=same) for _ in "12"),
    )
    features = network[:2](batch.images)
    content = network[2:](reference_style(features, share, order))
    style = learner.style[2:](reference_content(features, other))
    expected = {
        "network": F.cross_entropy(content, batch.labels),
        "style": F.cross_entropy(style, batch.labels),
        "adversary": 0.1 * reference_adversary(style),
    }
    torch.testing.assert_close(losses, expected)


def test_the_adversary_moves_the_affine_weights_before_the_layer(info):

    def parameters(*first):
        network = nn.Sequential(*first, nn.MaxPool2d(4), nn.Flatten(), nn.Linear(36, 5))
        learner = sagnet.SagNet().learner(network, info)
        made = learner.optimisers(lambda groups: list(groups))
        return network, made["adversary"][0]["params"], made["adversary"][0]["clip"]

    network, found, clip = parameters(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    assert [id(one) for one in found] == [id(one) for one in network[1].parameters()]
    assert clip == 0.1
    network, found, _ = parameters(nn.Conv2d(3, 4, 3), nn.ReLU())
    assert [id(one) for one in found] == [id(one) for one in network[0].parameters()]


def test_a_resnet_is_divided_before_layer3(info):
    network = torchvision.models.resnet18(num_classes=5)
    learner = sagnet.SagNet().learner(network, info)
    assert learner.layer == "layer2"
    x = torch.rand(2, 128, 2, 2)
    rest = network.eval().layer4(network.layer3(x)).mean((2, 3))
    torch.testing.assert_close(learner.style.eval()(x), network.fc(rest))
