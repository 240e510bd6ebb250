"""Losses that several methods share, against their formulas written with loops."""

import math

import pytest
import torch

from prorandconv.lab.methods import losses


def reference_contrast(views, labels, temperature):
    """Supervised contrast (Khosla et al., 2020, Eq. 2): mean over anchors of the mean over their
    positives of -log softmax; without labels, positives are the other views of the same image."""
    count, images = len(views), len(views[0])
    points = [
        (view, image, views[view][image] / torch.sqrt((views[view][image] ** 2).sum()))
        for view in range(count)
        for image in range(images)
    ]
    anchors = []
    for here, (_, image, one) in enumerate(points):
        others = [(i, z) for place, (_, i, z) in enumerate(points) if place != here]
        scores = [torch.exp((one * z).sum() / temperature) for _, z in others]
        positives = [
            score
            for score, (i, _) in zip(scores, others, strict=True)
            if (i == image if labels is None else labels[i] == labels[image])
        ]
        anchors.append(-sum(torch.log(p / sum(scores)) for p in positives) / len(positives))
    return sum(anchors) / len(anchors)


@pytest.mark.parametrize("labels", [None, torch.tensor([0, 1, 0, 2])])
def test_contrast_pulls_views_of_an_image_or_class_together(agree, labels):
    views = torch.randn(3, 4, 6)
    agree(
        lambda z: losses.supervised_contrast(z, labels, 0.5),
        lambda z: reference_contrast(z, labels, 0.5),
        views,
    )


def test_contrast_bears_a_small_temperature():
    views = torch.randn(2, 8, 16)
    found = losses.supervised_contrast(views, None, 0.001)
    assert torch.isfinite(found)
    assert found > 10


def test_entropy_is_largest_for_equal_logits():
    found = losses.entropy(torch.tensor([[1.0, 1, 1, 1], [50, 0, 0, 0]]))
    assert found.tolist() == pytest.approx([math.log(4), 0], abs=1e-6)
