"""FACT against its formulas, written with loops."""

import cmath
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from prorandconv.lab.methods import fact


def reference_spectrum(channel):
    """The discrete Fourier transform of one channel, term by term."""
    height, width = len(channel), len(channel[0])
    return [
        [
            sum(
                channel[y][x] * cmath.exp(-2j * math.pi * (v * y / height + u * x / width))
                for y in range(height)
                for x in range(width)
            )
            for u in range(width)
        ]
        for v in range(height)
    ]


def reference_image(spectrum):
    height, width = len(spectrum), len(spectrum[0])
    return [
        [
            sum(
                spectrum[v][u] * cmath.exp(2j * math.pi * (v * y / height + u * x / width))
                for v in range(height)
                for u in range(width)
            ).real
            / (height * width)
            for x in range(width)
        ]
        for y in range(height)
    ]


def reference_mix(x, share, order):
    """The phase of the image, amplitudes (1 - λ) its own and λ another image's."""
    result = torch.zeros_like(x)
    for image in range(len(x)):
        for channel in range(x.shape[1]):
            own = reference_spectrum(x[image, channel].tolist())
            other = reference_spectrum(x[order[image], channel].tolist())
            a = float(share[image])
            mixed = [
                [
                    ((1 - a) * abs(p) + a * abs(q)) * cmath.exp(1j * cmath.phase(p))
                    for p, q in zip(*rows, strict=True)
                ]
                for rows in zip(own, other, strict=True)
            ]
            result[image, channel] = torch.tensor(reference_image(mixed))
    return result


def reference_consistency(teacher, student, temperature):
    """Mean over images of KL(teacher || student), softmax at a temperature, not times its square.

    The teacher gets no gradient.
    """
    images = []
    for rows in zip(teacher.detach(), student, strict=True):
        p, q = ([torch.exp(one / temperature) for one in row] for row in rows)
        p, q = [one / sum(p) for one in p], [one / sum(q) for one in q]
        images.append(sum(a * torch.log(a / b) for a, b in zip(p, q, strict=True)))
    return sum(images) / len(images)


@pytest.mark.parametrize("shape", [(3, 2, 6, 6), (3, 1, 5, 7)])
def test_amplitudes_are_mixed_by_the_formula(shape):
    x, share = torch.rand(shape).double(), torch.tensor([0.0, 0.4, 1.0]).double()
    order = torch.tensor([1, 2, 0])
    found = fact.amplitude_mixed(x, share, order)
    torch.testing.assert_close(found, reference_mix(x, share, order))
    torch.testing.assert_close(found[0], x[0])
    assert (found[1:] - x[1:]).abs().max() > 0.05


def test_the_student_follows_the_teacher(agree):
    agree(
        lambda teacher, student: fact.consistency(teacher, student, 10.0),
        lambda teacher, student: reference_consistency(teacher, student, 10.0),
        10 * torch.randn(4, 5),
        10 * torch.randn(4, 5),
    )


def test_the_weight_rises_for_five_epochs():
    rise = [fact.rise(epoch, 5) for epoch in (0, 1, 2.5, 5, 30)]
    assert rise == pytest.approx([math.exp(-5), math.exp(-3.2), math.exp(-1.25), 1, 1])


def test_the_loss_is_its_formula_and_the_teacher_follows(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    learner = fact.FACT(consistency=2.0).learner(network, info)
    torch.nn.init.normal_(learner.teacher[1].weight, std=0.3)
    learner.done.fill_(6 * info.steps + 1)  # in epoch 6 the weight has risen
    rounds = learner.step(batch, torch.Generator().manual_seed(3))
    loss = next(rounds)["network"]
    mixed = learner.augment(batch.images, torch.Generator().manual_seed(3))
    pixels = [one * 0.25 + 0.5 for one in (batch.images, mixed)]
    share = torch.rand(6, generator=(same := torch.Generator().manual_seed(3)))
    whole = reference_mix(pixels[0], share, torch.randperm(6, generator=same)).clamp(0, 1)
    torch.testing.assert_close(pixels[1], whole, atol=1e-5, rtol=0)
    found, wanted = ([one(x) for x in (batch.images, mixed)] for one in (network, learner.teacher))
    task = sum(F.cross_entropy(one, batch.labels) for one in found) / 2
    distance = reference_consistency(wanted[0], found[1], 10.0)
    distance = distance + reference_consistency(wanted[1], found[0], 10.0)
    torch.testing.assert_close(loss, task + 2 * distance)
    before = learner.teacher[1].weight.clone()
    assert next(rounds, None) is None
    kept = 1 - 1 / (6 * info.steps + 2)
    expected = kept * before + (1 - kept) * network[1].weight
    torch.testing.assert_close(learner.teacher[1].weight, expected)
