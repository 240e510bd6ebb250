"""AAUA and AAD against their formulas, written with loops."""

import cmath
import math

import pytest
import torch

from prorandconv.lab.methods import aaua

LABELS = torch.tensor([1, 0, 2])
SMALL = 1e-4


def _spectrum(channel):
    height, width = channel.shape
    values = {}
    for u in range(height):
        for v in range(width):
            values[u, v] = sum(
                channel[i, j] * cmath.exp(-2j * math.pi * (u * i / height + v * j / width))
                for i in range(height)
                for j in range(width)
            )
    return values


def _image(spectrum, height, width):
    """The real part of the inverse transform, limited to the range of pixels."""
    rows = []
    for i in range(height):
        row = []
        for j in range(width):
            total = sum(
                value * cmath.exp(2j * math.pi * (u * i / height + v * j / width))
                for (u, v), value in spectrum.items()
            )
            row.append((total.real / (height * width)).clamp(0, 1))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def _middle(height, width, share):
    """Frequencies of the middle of the centred spectrum."""

    def near(u, side):
        most = max(int(share * side / 2), 1)
        return min(u, side - u) <= most

    return {
        (u, v) for u in range(height) for v in range(width) if near(u, height) and near(v, width)
    }


def _moments(values):
    mean = sum(values) / len(values)
    return mean, torch.sqrt(sum((one - mean) ** 2 for one in values) / (len(values) - 1))


def _spread(values):
    mean = sum(values) / len(values)
    return torch.sqrt(sum((one - mean) ** 2 for one in values) / len(values)) + SMALL


def reference_uncertain(x, mean_noise, std_noise, share):
    """Mean and deviation of the middle amplitudes move by d times their deviation in the batch."""
    count, channels, height, width = x.shape
    middle = _middle(height, width, share)
    spectra, moments = {}, {}
    for n in range(count):
        for c in range(channels):
            spectra[n, c] = _spectrum(x[n, c])
            moments[n, c] = _moments([spectra[n, c][place].abs() for place in middle])
    images = []
    for n in range(count):
        new = []
        for c in range(channels):
            mean, std = moments[n, c]
            mean2 = mean + mean_noise[n, c] * _spread([moments[m, c][0] for m in range(count)])
            std2 = std + std_noise[n, c] * _spread([moments[m, c][1] for m in range(count)])
            spectrum = dict(spectra[n, c])
            for place in middle:
                amplitude = spectrum[place].abs()
                moved = (amplitude - mean) / (std + SMALL) * (std2 + SMALL) + mean2
                spectrum[place] = spectrum[place] / amplitude * moved
            new.append(_image(spectrum, height, width))
        images.append(torch.stack(new))
    return torch.stack(images)


def reference_dropped(x, gradient, uniform):
    """Amplitudes whose scaled gradient is above a uniform number become 0."""
    images = []
    for n in range(len(x)):
        new = []
        for c in range(x.shape[1]):
            height, width = x[n, c].shape
            spectrum, slopes = _spectrum(x[n, c]), gradient[n, c]
            low, high = slopes.min(), slopes.max()
            for u, v in spectrum:
                if (slopes[u, v] - low) / (high - low) > uniform[n, c, u, v]:
                    spectrum[u, v] = spectrum[u, v] * 0
            new.append(_image(spectrum, height, width))
        images.append(torch.stack(new))
    return torch.stack(images)


def _cross_entropy(logits, labels):
    rows = zip(logits, labels, strict=True)
    losses = [-torch.log(torch.exp(row[label]) / torch.exp(row).sum()) for row, label in rows]
    return sum(losses) / len(losses)


def reference_loss(views, labels):
    """Cross-entropy of every view, and their Jensen-Shannon divergence."""
    total = 0.0
    for rows in zip(*views, strict=True):
        chances = [torch.exp(row) / torch.exp(row).sum() for row in rows]
        for k in range(len(rows[0])):
            mean = sum(chance[k] for chance in chances) / len(chances)
            total = total + sum(c[k] * torch.log(c[k] / mean) for c in chances) / len(chances)
    return sum(_cross_entropy(view, labels) for view in views) + total / len(labels)


def _smooth(*shape):
    """Images whose values stay inside of the range of pixels when they are moved a little."""
    return 0.45 + torch.rand(*shape) / 10


@pytest.mark.parametrize(("height", "width", "share"), [(6, 5, 0.1), (5, 6, 0.5), (8, 6, 0.5)])
def test_moments_of_amplitudes_are_moved_by_the_formula(agree, height, width, share):
    agree(
        lambda x, *noise: aaua.uncertain(x, torch.stack(noise), share),
        lambda *given: reference_uncertain(*given, share),
        _smooth(3, 2, height, width),
        torch.randn(3, 2) / 5,
        torch.randn(3, 2) / 5,
    )


def test_without_noise_the_images_stay():
    x = torch.rand(3, 3, 8, 8).double()
    none = torch.zeros(2, 3, 3).double()
    torch.testing.assert_close(aaua.uncertain(x, none, 0.5), x)


def test_the_noise_follows_the_sign_of_the_gradient_up():
    x, noise = _smooth(3, 2, 5, 6).double(), torch.randn(2, 3, 2).double() / 10
    matrix = torch.randn(60, 3).double()

    def network(images):
        return images.flatten(1) @ matrix

    expected = [one.clone() for one in noise]
    for _ in range(2):
        given = [one.clone().requires_grad_() for one in expected]
        loss = _cross_entropy(network(reference_uncertain(x, *given, 0.5)), LABELS)
        slopes = torch.autograd.grad(loss, given)
        expected = [one + 0.05 * slope.sign() for one, slope in zip(expected, slopes, strict=True)]
    found = aaua.ascended(x, LABELS, network, noise, share=0.5, steps=2, rate=0.05)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_amplitudes_that_matter_are_dropped(agree):
    gradient, uniform = torch.randn(2, 2, 5, 6).double(), torch.rand(2, 2, 5, 6).double()
    agree(
        lambda x: aaua.dropped(x, gradient, uniform),
        lambda x: reference_dropped(x, gradient, uniform),
        _smooth(2, 2, 5, 6),
    )


def test_the_gradient_is_that_of_cross_entropy_by_the_amplitude():
    x, matrix = _smooth(3, 2, 5, 4).double(), torch.randn(40, 3).double()

    def network(images):
        return images.flatten(1) @ matrix

    found = aaua.amplitude_gradient(x, LABELS, network)
    for n, c, u, v in [(0, 0, 0, 0), (1, 1, 2, 3), (2, 0, 4, 1)]:
        losses = []
        for step in (1e-4, -1e-4):
            moved = x.clone()
            spectrum = _spectrum(x[n, c])
            amplitude = spectrum[u, v].abs()
            spectrum[u, v] = spectrum[u, v] / amplitude * (amplitude + step)
            moved[n, c] = _image(spectrum, 5, 4)
            losses.append(_cross_entropy(network(moved), LABELS))
        slope = (losses[0] - losses[1]) / 2e-4
        assert found[n, c, u, v].item() == pytest.approx(slope.item(), rel=1e-5, abs=1e-9)


def test_the_loss_is_its_formula(agree):
    agree(
        lambda *views: aaua.aaua_loss(views, LABELS),
        lambda *views: reference_loss(views, LABELS),
        *torch.randn(4, 3, 4),
    )
