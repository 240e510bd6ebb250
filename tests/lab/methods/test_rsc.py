"""RSC against its formulas, written with loops."""

import math

import pytest
import torch

from prorandconv.lab.methods import rsc


def _rank(values, value):
    return sum(bool(other > value) for other in values)


def reference_mask(features, gradient, spatial, share):
    """0 where an image relies most on its features, else 1.

    Channels are ranked by their mean gradient, positions by the features' sum weighted with it.
    """
    images = []
    for z, g in zip(features, gradient, strict=True):
        channels, height, width = z.shape
        means = [sum(v for row in one for v in row) / (height * width) for one in g]
        if not spatial:
            muted = math.ceil(channels * share)
            kept = [0.0 if _rank(means, one) < muted else 1.0 for one in means]
            images.append([[[one] * width for _ in range(height)] for one in kept])
            continue
        scores = [
            [sum(means[c] * z[c, i, j] for c in range(channels)) for j in range(width)]
            for i in range(height)
        ]
        every, muted = [v for row in scores for v in row], math.ceil(height * width * share)
        kept = [[0.0 if _rank(every, v) < muted else 1.0 for v in row] for row in scores]
        images.append([kept] * channels)
    return torch.tensor(images, dtype=torch.float64)


def reference_loss(features, first, second, labels, spatial, share, images):
    """Cross-entropy with muted features of those images whose true probability falls most."""

    def logits(z):
        pooled = torch.stack([one.sum((1, 2)) / one[0].numel() for one in z])
        return torch.tanh(pooled @ first) @ second

    gradient = torch.autograd.grad(
        sum(row[label] for row, label in zip(logits(features), labels, strict=True)),
        features,
        retain_graph=True,
    )[0]
    mask = reference_mask(features.detach(), gradient, spatial, share)
    falls = []
    for before, after, label in zip(logits(features), logits(features * mask), labels, strict=True):
        chances = [torch.exp(row[label]) / torch.exp(row).sum() for row in (before, after)]
        falls.append(max((chances[0] - chances[1]).item() - 1e-4, 0.0))
    most = round(len(falls) * images)
    for image, fall in enumerate(falls):
        if fall == 0 or _rank(falls, fall) >= most:
            mask[image] = 1
    losses = []
    for row, label in zip(logits(features * mask), labels, strict=True):
        losses.append(-torch.log(torch.exp(row[label]) / torch.exp(row).sum()))
    return sum(losses) / len(losses)


@pytest.mark.parametrize(("spatial", "share"), [(True, 1 / 3), (False, 1 / 3.2)])
def test_what_an_image_relies_on_most_is_muted(spatial, share):
    features, gradient = torch.randn(2, 3, 7, 5, 4).double()
    expected = reference_mask(features, gradient, spatial, share)
    found = rsc.mask(features, gradient, spatial, share).expand_as(features)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("images", [0.3, 0.5, 1.0])
@pytest.mark.parametrize(("spatial", "share"), [(True, 1 / 3), (False, 1 / 3.2)])
@pytest.mark.parametrize("size", [1, 1e-5])  # with small features no probability falls by 1e-4
def test_the_loss_is_its_formula(agree, spatial, share, images, size):
    labels = torch.tensor([1, 0, 2, 2, 1, 0])

    def found(features, first, second):
        def head(z):
            return torch.tanh(z.mean((2, 3)) @ first) @ second

        return rsc.rsc_loss(features, head, labels, spatial, share, images)

    agree(
        found,
        lambda *given: reference_loss(*given, labels, spatial, share, images),
        torch.randn(6, 7, 3, 4) * size,
        torch.randn(7, 5),
        torch.randn(5, 3),
    )


def _info():
    from prorandconv.lab.data.benchmarks.digits import FORMAT
    from prorandconv.lab.methods.learner import RunInfo

    return RunInfo(FORMAT, 10, 1, 50, 2, None, lambda tensor: tensor)


@pytest.mark.parametrize("name", ["lenet", "resnet18", "alexnet"])
def test_a_network_is_parted_behind_its_feature_maps(name):
    from prorandconv.lab.models import build_classifier as build

    size = 32 if name == "lenet" else 64
    network, x = build(name, classes=10, image_size=size).eval(), torch.rand(2, 3, size, size)
    names = list(network.state_dict())
    body, head = rsc.parts(network)
    assert body(x).dim() == 4
    assert torch.equal(head(body(x)), network(x))
    assert list(network.state_dict()) == names


def test_a_network_without_feature_maps_is_named():
    from prorandconv import ProRandConvError

    flat = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10))
    with pytest.raises(ProRandConvError, match=r"network.*Sequential.*lenet or resnet18"):
        rsc.RSC().learner(flat, _info())


def test_the_share_of_images_grows_up_to_all():
    from prorandconv.lab.models import LeNet

    learner, shares = rsc.RSC().learner(LeNet(10), _info()), []
    for epoch in (0, 9, 10, 39, 49):
        learner.begin_epoch(epoch, None, torch.Generator(), lambda: None)
        shares.append(learner.share)
    assert shares == pytest.approx([0.3, 0.3, 0.5, 0.9, 1.0])
