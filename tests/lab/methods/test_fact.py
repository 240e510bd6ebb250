"""FACT against its formulas, written with loops."""

import cmath
import math

import pytest
import torch


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
    module = pytest.importorskip("prorandconv.lab.methods.fact")
    x, share = torch.rand(shape).double(), torch.tensor([0.0, 0.4, 1.0]).double()
    order = torch.tensor([1, 2, 0])
    found = module.amplitude_mixed(x, share, order)
    torch.testing.assert_close(found, reference_mix(x, share, order))
    torch.testing.assert_close(found[0], x[0])
    assert (found[1:] - x[1:]).abs().max() > 0.05


def test_the_student_follows_the_teacher(agree):
    module = pytest.importorskip("prorandconv.lab.methods.fact")
    agree(
        lambda teacher, student: module.consistency(teacher, student, 10.0),
        lambda teacher, student: reference_consistency(teacher, student, 10.0),
        10 * torch.randn(4, 5),
        10 * torch.randn(4, 5),
    )


def test_the_weight_rises_for_five_epochs():
    module = pytest.importorskip("prorandconv.lab.methods.fact")
    rise = [module.rise(epoch, 5) for epoch in (0, 1, 2.5, 5, 30)]
    assert rise == pytest.approx([math.exp(-5), math.exp(-3.2), math.exp(-1.25), 1, 1])
