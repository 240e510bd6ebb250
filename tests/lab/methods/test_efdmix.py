"""EFDMix against its formula, written with loops."""

import torch

from prorandconv.lab.methods import efdmix


def reference_style(x, share, order):
    """Each value moves towards the other image's value of the same rank, in its channel.

    The moving value's own part in the difference carries no gradient; the other's does.
    """
    images = []
    for image in range(len(x)):
        channels = []
        for own, other in zip(x[image], x[order[image]], strict=True):
            mine = [value for row in own for value in row]
            ranked = sorted((value for row in other for value in row), key=torch.Tensor.item)
            by_rank = sorted(range(len(mine)), key=lambda place: mine[place].item())
            new = list(mine)
            for rank, place in enumerate(by_rank):
                difference = ranked[rank] - mine[place].detach()
                new[place] = mine[place] + (1 - share[image]) * difference
            channels.append(torch.stack(new).view(own.shape))
        images.append(torch.stack(channels))
    return torch.stack(images)


def test_values_are_blended_with_those_of_the_same_rank(agree):
    order = torch.tensor([2, 0, 1])
    agree(
        lambda x, share: efdmix.matched_style(x, share, order),
        lambda x, share: reference_style(x, share, order),
        torch.randn(3, 2, 4, 3),
        torch.tensor([0.3, 0.9, 0.0]),
    )


def test_without_a_share_of_its_own_an_image_has_the_others_values():
    x = torch.randn(2, 3, 4, 4)
    found = efdmix.matched_style(x, torch.zeros(2), torch.tensor([1, 0]))
    for mine, new, other in zip(x, found, x.flip(0), strict=True):
        values = (one.flatten(1).sort().values for one in (new, other))
        torch.testing.assert_close(*values)
        assert torch.equal(new.flatten(1).argsort(), mine.flatten(1).argsort())
