"""PDEN against its formulas, written with loops."""

import torch
import torch.nn.functional as F
from torch import nn

from prorandconv.lab.methods import pden
from prorandconv.lab.methods.losses import supervised_contrast


def reference_separation(a, b, temperature):
    """The generator's contrast: mean over all anchors of -log(1 - p), p being the share of the
    anchor's other view in the softmax over all other points."""
    points = [row / torch.sqrt((row**2).sum()) for row in [*a, *b]]
    total, count = 0.0, len(a)
    for anchor in range(2 * count):
        scores = {
            other: torch.exp((points[anchor] * points[other]).sum() / temperature)
            for other in range(2 * count)
            if other != anchor
        }
        p = scores[(anchor + count) % (2 * count)] / sum(scores.values())
        total = total - torch.log(1 - p)
    return total / (2 * count)


def reference_diversity(a, b, limit):
    """Mean over images of min(mean |a - b|, limit)."""
    total = 0.0
    for one, other in zip(a, b, strict=True):
        values = [abs(p - q) for p, q in zip(one.reshape(-1), other.reshape(-1), strict=True)]
        mean = sum(values) / len(values)
        total = total + (mean if mean < limit else torch.tensor(limit).double())
    return total / len(a)


def reference_adain(x, gamma, beta):
    """(1 + γ)(x - μ)/σ + β, with the biased variance of each image and channel."""
    result = []
    for image in range(len(x)):
        for channel in range(x.shape[1]):
            values = x[image, channel].reshape(-1)
            mean = sum(values) / len(values)
            variance = sum((value - mean) ** 2 for value in values) / len(values)
            plain = (x[image, channel] - mean) / torch.sqrt(variance + 1e-5)
            result.append((1 + gamma[image, channel]) * plain + beta[image, channel])
    return torch.stack(result).view(x.shape)


def reference_generator_loss(task, diversity, cycle, separation):
    """Weights of the authors' script: 1, 2, 20 and 0.1."""
    return task - 2 * diversity + 20 * cycle + 0.1 * separation


def test_the_generator_drives_views_apart(agree):
    agree(
        lambda a, b: pden.separation(a, b, 0.5),
        lambda a, b: reference_separation(a, b, 0.5),
        torch.randn(4, 6),
        torch.randn(4, 6),
    )


def test_views_that_are_equal_have_a_finite_separation():
    a = torch.eye(4).requires_grad_()
    found = pden.separation(a, a.detach().clone(), 0.01)
    (gradient,) = torch.autograd.grad(found, a)
    assert torch.isfinite(found)
    assert torch.isfinite(gradient).all()


def test_diversity_counts_up_to_a_limit(agree):
    agree(
        lambda a, b: pden.diversity(a, b, 0.5),
        lambda a, b: reference_diversity(a, b, 0.5),
        torch.rand(4, 3, 4, 4) * torch.tensor([1.0, 1, 1, 4]).view(4, 1, 1, 1),
        torch.rand(4, 3, 4, 4),
    )


def test_noise_sets_scale_and_shift_of_the_generators_features(agree):
    agree(pden.adain, reference_adain, torch.randn(2, 3, 4, 4), *torch.randn(2, 2, 3))


def test_the_generators_loss_has_the_authors_signs_and_weights(agree):
    method = pden.PDEN()
    agree(method.generator_loss, reference_generator_loss, *torch.rand(4))


def test_both_losses_of_a_round_are_their_formulas(info, batch):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    learner = pden.PDEN(domains=2, temperature=0.5).learner(network, info)
    learner.done.fill_(23)  # of 40 steps: the second generator's first ones
    assert learner.phase() == (1, True)
    (losses,) = learner.step(batch, torch.Generator().manual_seed(3))
    same = torch.Generator().manual_seed(3)

    def noise():
        return torch.randn(6, 10, generator=same)

    pixels = batch.images * 0.25 + 0.5
    new, other = (learner.generators[1](pixels, noise()) for _ in "12")
    assert torch.randint(1, (), generator=same) == 0
    earlier = learner.generators[0](pixels, noise())
    share = torch.rand(6, 1, 1, 1, generator=same)
    views = [new, pixels, earlier, share * pixels + (1 - share) * earlier]
    against = 1 + int(torch.randint(3, (), generator=same))
    images = [(one - 0.5).flatten(1) / 0.25 for one in views]
    tasks = [F.cross_entropy(network(one), batch.labels) for one in images]
    points = torch.stack([learner.projection(one) for one in images])
    contrast = supervised_contrast(points, None, 0.5)  # it has its own reference
    torch.testing.assert_close(losses["network"], sum(tasks) + contrast)
    expected = reference_generator_loss(
        tasks[0],
        reference_diversity(new, other, 0.5),
        ((learner.inverses[1](new) - pixels) ** 2).mean(),
        reference_separation(points[0], points[against], 0.5),
    )
    torch.testing.assert_close(losses["generator"], expected)


def test_generators_learn_one_after_another_in_half_of_their_steps(info):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    learner = pden.PDEN(domains=2).learner(network, info)
    phases = []
    for done in range(40):
        learner.done.fill_(done)
        phases.append(learner.phase())
    assert [phases.count(one) for one in ((-1, False), (-1, True))] in ([4, 0], [0, 4])
    assert [number for number, _ in phases] == [-1] * 4 + [0] * 18 + [1] * 18
    learning = [done for done, (number, on) in enumerate(phases) if number >= 0 and on]
    assert learning == [*range(4, 13), *range(22, 31)]
