"""DSU against its formulas, written with loops."""

import pytest
import torch

from prorandconv.lab.methods import dsu

EPS = 1e-6


def reference_style(x, mean_noise, std_noise):
    """Mean and deviation of each channel are drawn around their own, as wide as the batch's."""
    count, channels = x.shape[:2]
    means, stds = {}, {}
    for image in range(count):
        for channel in range(channels):
            values = [value for row in x[image, channel] for value in row]
            mean = sum(values) / len(values)
            variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
            means[image, channel], stds[image, channel] = mean, torch.sqrt(variance + EPS)
    images = []
    for image in range(count):
        new = []
        for channel in range(channels):
            spreads = []
            for moments in (means, stds):
                batch = [moments[one, channel] for one in range(count)]
                centre = sum(batch) / count
                spread = sum((one - centre) ** 2 for one in batch) / count
                spreads.append(torch.sqrt(spread + EPS))
            mean, std = means[image, channel], stds[image, channel]
            beta = mean + mean_noise[image, channel] * spreads[0]
            gamma = std + std_noise[image, channel] * spreads[1]
            new.append((x[image, channel] - mean) / std * gamma + beta)
        images.append(torch.stack(new))
    return torch.stack(images)


def test_moments_are_drawn_around_their_own_as_wide_as_the_batchs(agree):
    agree(
        dsu.uncertain_style,
        reference_style,
        torch.randn(4, 3, 3, 5) * 2 + 1,
        torch.randn(4, 3),
        torch.randn(4, 3),
    )


def test_without_noise_nothing_changes():
    x = torch.randn(4, 3, 5, 5)
    found = dsu.uncertain_style(x, torch.zeros(4, 3), torch.zeros(4, 3))
    torch.testing.assert_close(found, x)


@pytest.mark.parametrize(
    ("network", "layers"),
    [
        ("lenet", ("0", "2", "5")),
        ("resnet18", ("conv1", "maxpool", "layer1", "layer2", "layer3", "layer4")),
    ],
)
def test_noise_follows_the_first_convolution_the_pooling_and_the_stages(network, layers):
    from prorandconv.lab.models import build_classifier as build

    built = build(network, classes=10, image_size=32)
    assert dsu.DSU().usual_layers(built) == layers
