"""AdvST against its formulas, written with loops."""

import math

import pytest
import torch

from prorandconv.lab.methods import advst
from prorandconv.lab.methods.operations import OPERATIONS
from prorandconv.lab.models import LeNet

LABELS = torch.tensor([2, 0, 1])


def _each(x, function):
    """A function (value, image, channel, row, column) of every value."""
    count, channels, height, width = x.shape
    values = [
        function(x[n, c, i, j], n, c, i, j)
        for n in range(count)
        for c in range(channels)
        for i in range(height)
        for j in range(width)
    ]
    return torch.stack(values).view(x.shape)


def _limited(value):
    return value.clamp(0, 1)


def reference_hsv(x, shift):
    """Hue (in radians), saturation and value of each pixel are shifted."""
    images = []
    for n in range(len(x)):
        rows = []
        for i in range(x.shape[2]):
            for j in range(x.shape[3]):
                r, g, b = x[n, :, i, j]
                most, least = max(r, g, b), min(r, g, b)
                delta = most - least
                if most == r:
                    sextant = (g - b) / delta
                elif most == g:
                    sextant = (b - r) / delta + 2
                else:
                    sextant = (r - g) / delta + 4
                hue = (sextant / 6) % 1 * 2 * math.pi + shift[n, 0]
                saturation, value = delta / (most + 1e-8) + shift[n, 1], most + shift[n, 2]
                part = hue / (2 * math.pi) * 6
                place = math.floor(part.item()) % 6
                f = part - math.floor(part.item())
                p, q = value * (1 - saturation), value * (1 - f * saturation)
                t = value * (1 - (1 - f) * saturation)
                table = [
                    (value, t, p),
                    (q, value, p),
                    (p, value, t),
                    (p, q, value),
                    (t, p, value),
                    (value, p, q),
                ]
                rows.append(torch.stack(table[place]))
        images.append(torch.stack(rows).T.reshape(x.shape[1:]))
    return _limited(torch.stack(images))


def _moved(x, sources):
    """Each value from a place (row, column) of the same channel; 0 outside, between: bilinear."""

    def value(_, n, c, i, j):
        height, width = x.shape[2:]
        y, across = sources(n, i, j)
        top, left = math.floor(y.item()), math.floor(across.item())
        total = x[n, c, 0, 0] * 0
        for row in (top, top + 1):
            for column in (left, left + 1):
                if 0 <= row < height and 0 <= column < width:
                    weight = (1 - abs(y - row)) * (1 - abs(across - column))
                    total = total + weight * x[n, c, row, column]
        return total

    return _limited(_each(x, value))


def reference_rotate(x, turn):
    """Against the clock about the centre, by a share of the circle."""
    middle = (x.shape[2] - 1) / 2, (x.shape[3] - 1) / 2

    def sources(n, i, j):
        angle = 2 * math.pi * turn[n, 0].clamp(0.01, 1)
        down, right = i - middle[0], j - middle[1]
        # A point of the result has come from where the turn back leads.
        return (
            middle[0] + torch.sin(angle) * right + torch.cos(angle) * down,
            middle[1] + torch.cos(angle) * right - torch.sin(angle) * down,
        )

    return _moved(x, sources)


def reference_translate(x, shift):
    """To the right and down, by shares of a tenth of the width."""
    most = x.shape[3] * 0.1
    return _moved(
        x,
        lambda n, i, j: (
            i - shift[n, 1].clamp(-1, 1) * most,
            j - shift[n, 0].clamp(-1, 1) * most,
        ),
    )


def reference_shear(x, factors):
    """A point (x, y) goes to (x + a y, y + b x)."""

    def sources(n, i, j):
        a, b = factors[n]
        return (i - b * j) / (1 - a * b), (j - a * i) / (1 - a * b)

    return _moved(x, sources)


def reference_scale(x, factor):
    """About the centre, by factors from ½ to 2."""
    middle = (x.shape[2] - 1) / 2, (x.shape[3] - 1) / 2

    def sources(n, i, j):
        by = factor[n, 0].clamp(0.5, 2)
        return middle[0] + (i - middle[0]) / by, middle[1] + (j - middle[1]) / by

    return _moved(x, sources)


def reference_invert(x, most):
    return _limited(_each(x, lambda v, n, c, i, j: most[n, 0].clamp(0.5, 1) - v))


def reference_contrast(x, factor):
    return _limited(_each(x, lambda v, n, c, i, j: v * factor[n, 0].clamp(0.1, 1.9)))


def reference_sharpness(x, factor):
    """Between smoothed (0) and original (1); the border is not smoothed."""

    def value(v, n, c, i, j):
        if not (0 < i < x.shape[2] - 1 and 0 < j < x.shape[3] - 1):
            return v
        smooth = sum(
            (5 if (di, dj) == (0, 0) else 1) * x[n, c, i + di, j + dj] / 13
            for di in (-1, 0, 1)
            for dj in (-1, 0, 1)
        )
        return smooth + (v - smooth) * factor[n, 0].clamp(0, 1)

    return _limited(_each(x, value))


def reference_solarise(x, shift):
    """Brighter or darker by up to .5, then inverted from the middle up."""

    def value(v, n, c, i, j):
        moved = (v + shift[n, 0].clamp(-0.499, 0.499)).clamp(0, 1)
        return 1 - moved if moved >= 0.5 else moved

    return _each(x, value)


def reference_equalise(x):
    """Pillow's equalisation of the 256 levels of each channel; gradient as if nothing happened."""
    images = []
    for image in x.detach():
        for channel in image:
            levels = [round(255 * float(v)) for v in channel.flatten()]
            counts = [levels.count(level) for level in range(256)]
            last = [count for count in counts if count][-1]
            step = (len(levels) - last) // 255
            if step == 0:
                images.append(channel)
                continue
            table = [min((step // 2 + sum(counts[:level])) // step, 255) for level in range(256)]
            new = [table[level] / 255 for level in levels]
            images.append(torch.tensor(new, dtype=x.dtype).view(channel.shape))
    return torch.stack(images).view(x.shape) + x - x.detach()


def reference_posterise(x, bits):
    """The highest bits of each value of 8 bits; gradient as if nothing happened."""

    def value(v, n, c, i, j):
        step = 2 ** (8 - int(bits[n]))
        return torch.tensor(round(255 * float(v)) // step * step / 255, dtype=x.dtype)

    return _each(x.detach(), value) + x - x.detach()


def reference_cutout(x, colour, corners, side):
    """Squares of one colour an image, at the same places in all images."""

    def value(v, n, c, i, j):
        inside = any(y <= i < y + side and z <= j < z + side for y, z in corners.tolist())
        return colour[n, c] if inside else v

    return _limited(_each(x, value))


def _entropy(logits):
    rows = []
    for row in logits:
        chances = torch.exp(row) / torch.exp(row).sum()
        rows.append(-sum(chance * torch.log(chance) for chance in chances))
    return sum(rows) / len(rows)


def _cross_entropy(logits, labels):
    rows = zip(logits, labels, strict=True)
    losses = [-torch.log(torch.exp(row[label]) / torch.exp(row).sum()) for row, label in rows]
    return sum(losses) / len(losses)


def reference_ascent(x, labels, network, change, first, gamma, eta, steps, rate):
    """RMSprop on cross-entropy - γ distance of features + η entropy, until it hardly moves."""
    value, square, before, done = first.clone(), torch.zeros_like(first), 0.0, 0
    original = network(x)[0]
    while done < steps:
        given = value.clone().requires_grad_()
        features, logits = network(change(x, given))
        distance = ((features - original) ** 2).sum() / features.numel()
        objective = _cross_entropy(logits, labels) - gamma * distance + eta * _entropy(logits)
        slope = torch.autograd.grad(objective, given)[0]
        square = 0.99 * square + 0.01 * slope**2
        value = value + rate * slope / (square.sqrt() + 1e-8)
        done += 1
        if abs(objective.item() - before) <= 0.1:
            break
        before = objective.item()
    return value, done


def reference_loss(logits, projections, labels, beta, eta, temperature):
    """Cross-entropy + β supervised contrast - η entropy."""
    units = [one / torch.sqrt((one**2).sum()) for one in projections]
    anchors = []
    for here, unit in enumerate(units):
        others = [place for place in range(len(units)) if place != here]
        scores = {place: torch.exp((unit * units[place]).sum() / temperature) for place in others}
        same = [place for place in others if labels[place] == labels[here]]
        terms = [-torch.log(scores[place] / sum(scores.values())) for place in same]
        anchors.append(sum(terms) / len(terms) if terms else unit.sum() * 0)
    contrast = sum(anchors) / len(anchors)
    return _cross_entropy(logits, labels) + beta * contrast - eta * _entropy(logits)


def _pixels(*shape):
    """Pixels without ties, away from the borders of the range."""
    return 0.1 + 0.6 * torch.rand(*shape)


CASES = {
    "hsv": (reference_hsv, torch.rand(2, 3) / 4 - 0.1),
    "rotate": (reference_rotate, torch.tensor([[0.07], [0.61]])),
    "translate": (reference_translate, torch.tensor([[0.7, -0.4], [-0.9, 0.3]])),
    "invert": (reference_invert, torch.tensor([[0.9], [0.75]])),
    "shear": (reference_shear, torch.tensor([[0.2, -0.1], [-0.25, 0.05]])),
    "contrast": (reference_contrast, torch.tensor([[0.6], [1.3]])),
    "sharpness": (reference_sharpness, torch.tensor([[0.2], [0.9]])),
    "solarise": (reference_solarise, torch.tensor([[0.2], [-0.1]])),
    "scale": (reference_scale, torch.tensor([[0.7], [1.6]])),
}


@pytest.mark.parametrize("name", CASES)
def test_operations_are_their_formulas(agree, name):
    reference, parameter = CASES[name]
    function = OPERATIONS[name].apply
    agree(lambda x, given: function(x, given, None), reference, _pixels(2, 3, 5, 6), parameter)


def test_equalising_is_pillows_and_passes_the_gradient_on(agree):
    images = (_pixels(2, 3, 32, 32) ** 2 * 255).round() / 255
    function = OPERATIONS["equalise"].apply
    empty = torch.zeros(2, 0)
    agree(lambda x: function(x, empty, None), reference_equalise, images)
    assert not torch.allclose(function(images, empty, None), images, atol=0.1)


def test_posterising_keeps_the_highest_bits_and_passes_the_gradient_on(agree):
    bits, function = torch.tensor([0, 3, 8]), OPERATIONS["posterise"].apply
    images = (_pixels(3, 3, 4, 4) * 255).round() / 255
    agree(
        lambda x: function(x, torch.zeros(3, 0), bits),
        lambda x: reference_posterise(x, bits),
        images,
    )


def test_squares_are_cut_out(agree):
    corners, side = torch.tensor([[0, 2], [14, 17]]), 16
    agree(
        lambda x, colour: OPERATIONS["cutout"].apply(x, colour, corners),
        lambda x, colour: reference_cutout(x, colour, corners, side),
        _pixels(2, 3, 32, 36),
        torch.rand(2, 3),
    )


@pytest.mark.parametrize(("eta", "steps"), [(0.0, 3), (10.0, 3), (0.0, 50)])
def test_the_ascent_is_rmsprop_until_the_objective_hardly_moves(eta, steps):
    x = _pixels(3, 3, 4, 4).double()
    weights = torch.randn(48, 5).double(), torch.randn(5, 3).double()

    def network(images):
        features = torch.tanh(images.flatten(1) @ weights[0] / 4)
        return features, features @ weights[1]

    first = 0.1 + 1.8 * torch.rand(3, 1).double()
    expected, done = reference_ascent(
        x, LABELS, network, reference_contrast, first, 100.0, eta, steps, 0.2
    )
    found = advst.ascended(
        x, LABELS, network, [("contrast", first, None)], gamma=100.0, eta=eta, steps=steps, rate=0.2
    )
    torch.testing.assert_close(found[0][1], expected)
    assert (done < steps) == (steps == 50)  # the longest one has stopped by itself


def test_the_loss_is_its_formula(agree):
    labels = torch.tensor([0, 1, 0, 1, 2])
    agree(
        lambda *given: advst.advst_loss(*given, labels, 1.0, 10.0, 0.07),
        lambda *given: reference_loss(*given, labels, 1.0, 10.0, 0.07),
        torch.randn(5, 3),
        torch.randn(5, 6),
    )


def test_chains_have_one_to_three_operations_and_hsv_only_first():
    generator = torch.Generator().manual_seed(0)
    chains = [[name for name, _, _ in advst.draw_chain(2, 32, generator)] for _ in range(3000)]
    lengths = torch.tensor([len(chain) for chain in chains])
    assert torch.bincount(lengths, minlength=4)[1:].div(3000).sub(1 / 3).abs().max() < 0.03
    assert all(len(set(chain)) == len(chain) and "hsv" not in chain[1:] for chain in chains)
    firsts = [chain[0] for chain in chains if len(chain) == 1]
    shares = [firsts.count(name) / len(firsts) for name in OPERATIONS]
    assert max(abs(share - 1 / 12) for share in shares) < 0.03


def test_generations_follow_when_all_sets_may_have_been_seen_and_the_newest_stay(info):
    learner, made = advst.AdvST(kept=2).learner(LeNet(5, 16), info), []

    class Source:
        def batches(self, count, device, shard):
            made.append(len(made))
            return [(torch.full((3, 3, 16, 16), 0.1 * len(made)), torch.arange(3))]

    epochs = []
    for epoch in range(14):
        before = len(made)
        learner.begin_epoch(epoch, Source(), torch.Generator().manual_seed(0), lambda: None)
        learner.begin_epoch(epoch, Source(), torch.Generator().manual_seed(0), lambda: None)
        epochs += [epoch] * (len(made) - before)
        assert len(learner.labels) == 3 * min(len(made), 2)
    assert epochs == [1, 3, 6, 9, 12]
